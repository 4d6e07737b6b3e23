// Clients: whose files have the hub in them, and the change shown before it is made.

import { h } from "../lib/dom.js";
import { looking, quiet, sheet, small, tag, top, under } from "../lib/bits.js";
import { ask, order, segment, state } from "../lib/store.js";
import { button, complain, empty, fold, light, link, say, time } from "../lib/parts.js";
import { copy } from "../lib/copying.js";
import { visible } from "../lib/words.js";
import { choice, field, pretty } from "../lib/editing.js";
import { patch } from "../lib/patch.js";

const WAYS = [
  ["stdio", "a program that it starts (stdio)"],
  ["http", "the hub's address (HTTP)"],
];

function byUse(a, b) {
  return b.connected - a.connected || b.installed - a.installed || a.title.localeCompare(b.title);
}

function stateOf({ problem, connected, installed }) {
  if (problem) return light("failing", "cannot be used");
  if (connected) return light("ready", "connected");
  return light("disabled", installed ? "not connected" : "not found here");
}

export function open(place) {
  let clients = null;
  let entry = null; // how a client starts the hub, as JSON
  let changes = [];
  let agents = [];
  let shown = null; // the change that is looked at before it is made

  async function load() {
    try {
      const [found, past, known] = await Promise.all([
        ask("/clients"),
        ask("/clients/changes"),
        ask("/agents"),
      ]);
      clients = [...found.clients].sort(byUse);
      entry = found.entry;
      changes = past.changes;
      agents = known.agents;
    } catch (error) {
      complain(error);
    }
    place.redraw();
    const [[what, name] = []] = new URLSearchParams(location.search);
    const client = clients?.find((candidate) => candidate.client === name);
    if (!client) return;
    history.replaceState(null, "", location.pathname);
    (what === "connect" ? connect : disconnect)(client);
  }

  async function look(what) {
    shown = { ...what, answer: null };
    place.redraw();
    try {
      const answer = await order("POST", shown.path, { ...shown.body, dry_run: true });
      if (shown?.path === what.path) shown.answer = answer;
    } catch (error) {
      shown = null;
      complain(error);
    }
    place.redraw();
  }

  async function make() {
    try {
      const answer = await order("POST", shown.path, shown.body);
      const words = answer.changed
        ? `${shown.done} A change can be undone below.`
        : "There was nothing to change.";
      shown = null;
      say(words);
    } catch (error) {
      complain(error);
    }
    load();
  }

  const titleOf = (name) => clients.find(({ client }) => client === name)?.title || name;
  const at = (client) => `/clients/${segment(client.client)}`;
  function connect(client, body = { http: false, agent: "" }) {
    look({
      for: client.client,
      title: `Connect ${client.title}`,
      path: `${at(client)}/connect`,
      body,
      yes: "Connect",
      done: `${client.title} is connected.`,
      again: (next) => connect(client, next),
    });
  }
  function disconnect(client) {
    look({
      for: client.client,
      title: `Take the hub out of ${client.title}`,
      path: `${at(client)}/disconnect`,
      body: {},
      yes: "Disconnect",
      done: `${client.title} is disconnected.`,
    });
  }
  function undo(change) {
    look({
      for: `change ${change.id}`,
      title: `Undo: ${titleOf(change.client)} ${change.what}`,
      path: `/clients/changes/${segment(change.id)}/undo`,
      body: {},
      yes: "Undo it",
      done: "It is undone.",
    });
  }

  function ways(body, again) {
    const lists = agents.map((agent) => [agent.id, `the list of ${visible(agent.title)}`]);
    const chooseWay = (way) => again({ ...body, http: way === "http" });
    const chooseAgent = (agent) => again({ ...body, agent });
    return h(
      "div",
      { class: "cols" },
      field("By", choice("way", body.http ? "http" : "stdio", WAYS, chooseWay)),
      field(
        "As",
        choice("as", body.agent, [["", "everything in the yard"], ...lists], chooseAgent),
      ),
    );
  }

  function preview(answer) {
    if (!answer) return looking();
    if (!answer.changed) return h("p", null, "Nothing would change: it is so already.");
    return [
      h("p", null, "This is what changes in ", h("code", null, visible(answer.file)), ":"),
      patch(answer.difference),
      answer.note ? h("p", null, visible(answer.note)) : null,
    ];
  }

  function panel() {
    const { answer, body } = shown;
    return h(
      "div",
      { class: "card preview", role: "region", "aria-label": shown.title },
      h("h3", null, visible(shown.title)),
      shown.again ? ways(body, shown.again) : null,
      preview(answer),
      h(
        "p",
        { class: "row" },
        answer?.changed ? button(shown.yes, make, { class: "main" }) : null,
        button("Cancel", () => {
          shown = null;
          place.redraw();
        }),
      ),
    );
  }

  function row(client) {
    const verb = client.connected ? "Change" : "Connect";
    return h(
      "li",
      { key: client.client, class: "client" },
      h(
        "div",
        { class: "row spread" },
        h(
          "div",
          null,
          h("strong", null, visible(client.title)),
          client.connected ? tag(visible(client.how)) : null,
          under(visible(client.file)),
        ),
        h(
          "span",
          { class: "row" },
          stateOf(client),
          client.connected
            ? button("Disconnect", () => disconnect(client), {
                "aria-label": `Disconnect ${client.title}`,
              })
            : null,
          button(verb, () => connect(client), {
            "aria-label": `${verb} ${client.title}`,
            disabled: Boolean(client.problem) && !client.connected,
          }),
        ),
      ),
      client.problem ? h("p", { class: "bad" }, visible(client.problem)) : null,
      shown?.for === client.client ? panel() : null,
    );
  }

  function past(change) {
    const name = titleOf(change.client);
    return h(
      "li",
      { key: change.id },
      h(
        "div",
        { class: "row spread" },
        h(
          "span",
          null,
          visible(`${name}: ${change.what}`),
          " ",
          small(time(change.at)),
          under(visible(change.file)),
        ),
        change.undone
          ? small("undone ", time(change.undone))
          : button("Undo", () => undo(change), {
              "aria-label": `Undo ${change.what} ${name}`,
            }),
      ),
      shown?.for === `change ${change.id}` ? panel() : null,
    );
  }

  function snippets() {
    const url = `${state.status?.url || ""}/mcp`;
    const stdio = { mcpServers: { toolyard: entry } };
    const http = {
      mcpServers: { toolyard: { type: "http", url, headers: { Authorization: "Bearer TOKEN" } } },
    };
    const piece = (words, value) =>
      h(
        "div",
        null,
        h("h3", null, words),
        h("pre", { tabindex: "0" }, pretty(value)),
        button("Copy", () => copy(pretty(value)), { "aria-label": `Copy: ${words}` }),
      );
    return h(
      "details",
      { id: "snippets", class: "card" },
      h("summary", null, "For a client that is not listed"),
      piece("As a program", stdio),
      piece("As an address", http),
      quiet("Replace TOKEN with a token of its own: ", link("/ui/access", "create one"), "."),
    );
  }

  load();
  return () => {
    if (!clients) return looking();
    const here = clients.filter((client) => client.installed || client.connected || client.problem);
    const others = clients.filter((client) => !here.includes(client));
    return [
      top("Clients", [
        "A connected client sees every server of the yard. To give a program only some, make it an ",
        link("/ui/agents", "agent"),
        ". You see each change of a file first, and can undo it.",
      ]),
      sheet(
        "On this machine",
        here.length
          ? h("ul", { class: "plain" }, here.map(row))
          : empty(
              "No known client was found.",
              h("p", null, "Connect one that is listed below anyway, or copy a snippet."),
            ),
      ),
      sheet(
        "Changes",
        changes.length
          ? h("ul", { class: "plain" }, changes.map(past))
          : quiet("No file was changed yet."),
      ),
      others.length
        ? fold(
            `Not found on this machine (${others.length})`,
            h("ul", { class: "plain" }, others.map(row)),
            {
              class: "card",
              open: others.some((client) => client.client === shown?.for),
            },
          )
        : null,
      snippets(),
    ];
  };
}
