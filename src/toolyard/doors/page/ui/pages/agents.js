// Agents: who is given servers, and a switch for each.

import { h } from "../lib/dom.js";
import { heads, looking, submit, top, under } from "../lib/bits.js";
import { ask, onPicture, segment } from "../lib/store.js";
import { button, complain, confirmed, empty, link, run } from "../lib/parts.js";
import { count, visible } from "../lib/words.js";
import { check, field, textInput, toggle } from "../lib/editing.js";
import { turnAgent } from "../lib/agents.js";
import { agentPath } from "../lib/paths.js";

const TRANSPORTS = ["stdio", "http", "sse", "streamable_http"];

export function open(place) {
  let agents = null;
  const adding = { id: "", title: "", transports: new Set(["stdio"]) };

  async function load() {
    try {
      agents = (await ask("/agents")).agents;
      place.redraw();
    } catch (error) {
      complain(error);
    }
  }

  async function turn(agent, enabled) {
    await turnAgent(agent, enabled);
    load();
  }

  async function forget(agent) {
    if (
      !(await confirmed(
        `Forget the agent ${agent.title} and its list of ${count(agent.servers, "server")}?`,
        "Forget it",
      ))
    )
      return;
    await run(`${agent.title} is forgotten.`, "DELETE", `/agents/${segment(agent.id)}`);
    load();
  }

  async function add() {
    const { id, title, transports } = adding;
    const body = { title: title || id, transports: [...transports] };
    const added = await run(
      `${id} can be given servers now.`,
      "PUT",
      `/agents/${segment(id)}`,
      body,
    );
    if (added) place.go(agentPath(id));
  }

  function row(agent) {
    return h(
      "tr",
      { key: agent.id },
      h(
        "th",
        { scope: "row" },
        link(agentPath(agent.id), visible(agent.title)),
        under(visible(agent.id)),
      ),
      h(
        "td",
        { "data-label": "Gets servers", class: "whole" },
        toggle(
          `on-${agent.id}`,
          agent.enabled ? "on" : "off",
          agent.enabled,
          (on) => turn(agent, on),
          { "aria-label": `Give ${agent.title} its servers` },
        ),
      ),
      h("td", { "data-label": "Servers", class: "number" }, agent.servers),
      h("td", { "data-label": "Transports" }, agent.transports.join(", ")),
      h(
        "td",
        { "data-label": "Own settings on" },
        agent.overrides.length ? visible(agent.overrides.join(", ")) : "–",
      ),
      h("td", null, agent.own ? button("Forget", () => forget(agent)) : null),
    );
  }

  function form() {
    const set = (key) => (text) => {
      adding[key] = text;
      place.redraw();
    };
    const turnTransport = (name, on) => {
      if (on) adding.transports.add(name);
      else adding.transports.delete(name);
      place.redraw();
    };
    return h(
      "details",
      { key: "new", id: "new-agent", class: "card" },
      h("summary", null, "Add an agent of your own"),
      h(
        "form",
        { on: { submit: add } },
        field(
          "Name",
          textInput("new-id", adding.id, set("id"), { required: true }),
          "Letters, digits, - _ and .",
        ),
        field("Title", textInput("new-title", adding.title, set("title")), "Its display name."),
        h(
          "fieldset",
          { class: "plainset" },
          h("legend", null, "Transports it supports"),
          TRANSPORTS.map((name) =>
            check(name, adding.transports.has(name), (on) => turnTransport(name, on)),
          ),
        ),
        h("p", null, submit("Add it", !adding.id)),
      ),
    );
  }

  function table() {
    if (!agents) return looking();
    if (!agents.length) return empty("No agents are known.", h("p", null, "Add one below."));
    const columns = ["Agent", "Gets servers", "Servers", "Transports", "Own settings on", ""];
    return h(
      "table",
      { class: "stack" },
      heads(columns, "Servers"),
      h("tbody", null, agents.map(row)),
    );
  }

  onPicture(place, load);
  load();

  return () => [
    top("Agents", [
      "An agent gets the servers on its list. A ",
      link("/ui/clients", "connected client"),
      " sees all of them.",
    ]),
    table(),
    form(),
  ];
}
