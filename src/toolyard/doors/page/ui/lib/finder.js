// Find any server, tool, agent, page or action by a few letters, without leaving the keyboard.

import { byId, h, rememberFocus, render } from "./dom.js";
import { quiet, small } from "./bits.js";
import { ask, isPlainMember, segment, state } from "./store.js";
import { run } from "./parts.js";
import { short, visible } from "./words.js";
import { sectionsFor } from "../pages/index.js";
import { agentPath, policyPath, profilePath, serverPath, toolPath } from "./paths.js";
import { turnAgent } from "./agents.js";

const MOST = 30;
const ASKED = ["tools", "agents", "clients", "profiles", "policies"];
const answers = {}; // what the API listed last, by kind
const listed = (kind) => answers[kind] || [];
const ACTIONS = [
  ["add a server", "/ui/add"],
  ["paste JSON", "/ui/add/json", "add servers that a documentation shows"],
  ["import from clients", "/ui/setup", "move the servers of your clients into the hub"],
  ["choose from the catalog", "/ui/catalog", "add a server"],
  ["search a registry", "/ui/catalog?from=registry", "add a server from the public registry"],
  ["add an agent", "/ui/agents#new-agent"],
  ["make a profile", "/ui/profiles#profile-name"],
  ["define an app", "/ui/apps#new-app"],
  ["add an executor", "/ui/executors#executor-name", "docker, ssh, kubernetes"],
  ["copy a snippet", "/ui/clients#snippets", "connect a client that is not listed"],
];

function places(turn) {
  const found = [];
  const place = (kind, name, path, more = "") => found.push({ kind, name, path, more });
  const act = (name, action, more = "") => found.push({ kind: "action", name, run: action, more });
  for (const section of sectionsFor(state.me)) {
    place("page", section.name, section.pages[0].path);
    for (const page of section.pages.slice(1))
      if (page.tab) place("page", page.tab, page.path, section.name);
  }
  for (const { alias, title, enabled, status, source } of state.status?.servers || []) {
    const does = (order, words, done, more) => {
      const path = `/servers/${segment(alias)}/${order}`;
      act(`${words} ${alias}`, () => run(`${alias} ${done}.`, "POST", path), more);
    };
    place("server", alias, serverPath(alias), title);
    if (!enabled) {
      does("enable", "enable", "is enabled");
      continue;
    }
    does("restart", "restart", "was restarted");
    if (["ready", "starting", "installing"].includes(status))
      does("deactivate", "let rest", "rests; the next call starts it", "stop");
    else does("activate", "start", "runs");
    if (source === "configured") place("action", `edit ${alias}`, `${serverPath(alias)}/edit`);
    place("action", `verify ${alias}`, `${serverPath(alias)}?verify`);
    does("disable", "disable", "is disabled");
  }
  for (const { server, tool, description } of listed("tools")) {
    if (server) place("tool", tool, toolPath(server, tool), `${server} · ${description || ""}`);
  }
  for (const agent of listed("agents")) {
    place("agent", agent.title, agentPath(agent.id), agent.id);
    act(
      `${agent.enabled ? "disable" : "enable"} agent ${agent.title}`,
      () => turnAgent(agent, !agent.enabled),
      agent.id,
    );
  }
  for (const client of listed("clients")) {
    place(
      "action",
      `connect ${client.title}`,
      `/ui/clients?connect=${segment(client.client)}`,
      "client",
    );
    if (client.connected)
      place(
        "action",
        `disconnect ${client.title}`,
        `/ui/clients?disconnect=${segment(client.client)}`,
        "client",
      );
  }
  for (const { name, title } of listed("profiles"))
    place("profile", name, profilePath(name), title);
  for (const { executor } of listed("policies"))
    place("policy", executor, policyPath(executor), "policy of an executor");
  for (const app of state.status?.apps || []) {
    const scan = () =>
      run(`Looked at the ports of ${app.title}.`, "POST", `/apps/${segment(app.name)}/scan`);
    act(`look for ${app.title}`, scan, "app");
  }
  if (isPlainMember()) {
    act("light or dark", turn, "theme");
    return found;
  }
  for (const [name, path, more] of ACTIONS) place("action", name, path, more);
  act(
    "look again",
    () => run("Every source was asked again.", "POST", "/refresh"),
    "refresh all sources",
  );
  act("light or dark", turn, "theme");
  return found;
}

// Better: the whole name, then its beginning, then within it, then in what is said of it.
function rank(place, words) {
  const name = place.name.toLowerCase();
  const more = (place.more || "").toLowerCase();
  let sum = place.kind === "action" ? 3 : 0;
  for (const word of words) {
    if (name === word) continue;
    if (name.startsWith(word)) sum += 1;
    else if (name.includes(word)) sum += 2;
    else if (more.includes(word)) sum += 6;
    else return -1;
  }
  return sum;
}

function matching(query, turn) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return places(turn)
    .map((place) => ({ place, rank: rank(place, words) }))
    .filter((match) => match.rank >= 0)
    .sort((a, b) => a.rank - b.rank)
    .slice(0, MOST)
    .map((match) => match.place);
}

export function openFinder(go, turn) {
  const above = byId("above");
  if (above.querySelector(".finder")) return;
  const giveFocusBack = rememberFocus();
  let query = "";
  let at = 0;
  let found = matching(query, turn);

  function close() {
    render(above);
    giveFocusBack();
  }
  function choose(place) {
    close();
    if (place.run) place.run();
    else go(place.path);
  }
  function press(event) {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      at = (at + (event.key === "ArrowDown" ? 1 : found.length - 1)) % Math.max(1, found.length);
      event.preventDefault();
      draw();
      above.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter" && found[at]) {
      event.preventDefault();
      choose(found[at]);
    }
  }
  function clickOutside(event) {
    if (event.target.tagName === "DIALOG") close();
  }
  function type(event) {
    query = event.target.value;
    at = 0;
    found = matching(query, turn);
    draw();
  }
  function option(place, number) {
    return h(
      "li",
      {
        id: `found-${number}`,
        role: "option",
        "aria-selected": String(number === at),
        on: { click: () => choose(place) },
      },
      h("span", { class: "kind" }, place.kind),
      h("span", { class: "name" }, short(place.name, 80)),
      small(short(place.more || "", 90)),
    );
  }
  function draw() {
    render(
      above,
      h(
        "dialog",
        {
          class: "finder",
          "aria-label": "Find",
          made: (node) => node.showModal(),
          on: { close, cancel: close, click: clickOutside },
        },
        h("input", {
          type: "text",
          placeholder: isPlainMember() ? "A page …" : "A server, tool, agent, page or action …",
          autofocus: true,
          autocomplete: "off",
          spellcheck: "false",
          role: "combobox",
          "aria-label": "Find",
          "aria-expanded": "true",
          "aria-controls": "found",
          "aria-autocomplete": "list",
          "aria-activedescendant": found[at] ? `found-${at}` : undefined,
          on: { keydown: press, input: type },
        }),
        h(
          "ul",
          { id: "found", role: "listbox", "aria-label": "What was found" },
          found.map(option),
        ),
        found.length ? null : quiet(`Nothing is called “${visible(query)}”.`),
      ),
    );
  }
  draw();
  for (const kind of isPlainMember() ? [] : ASKED) {
    ask(`/${kind}`).then(
      (answer) => {
        answers[kind] = answer[kind];
        found = matching(query, turn);
        if (above.querySelector(".finder")) draw();
      },
      () => {},
    );
  }
}
