// Servers: is everything well, and what do I have to do; then the list.

import { h, remembered } from "../lib/dom.js";
import { looking, quiet, small, under } from "../lib/bits.js";
import { ask, state } from "../lib/store.js";
import { empty, link, spark, startingFor, stateOf } from "../lib/parts.js";
import { byCause, causeWords, mend, mendAll, problemWords } from "../lib/causes.js";
import { originsOf } from "../lib/importing.js";
import { problems } from "../lib/problems.js";
import { strip } from "../lib/strip.js";
import { bytes, count, ms, short, tokens, visible, whole } from "../lib/words.js";
import { serverPath } from "../lib/paths.js";

const ORDER = [
  "failing",
  "waiting",
  "installing",
  "starting",
  "ready",
  "idle",
  "known",
  "disabled",
];
/** The source of servers in the file of the user, which goes without saying. */
const OWN = "configured";
const rows = new Map();
const filter = { words: "", state: "" };

function row(server, isGrouped) {
  const figures = state.figures.get(server.alias);
  const sign = JSON.stringify([server, figures, isGrouped, startingFor(server)]);
  return remembered(rows, server.alias, sign, () => makeRow(server, figures, isGrouped));
}

function makeRow(server, figures, isGrouped) {
  const minutes = figures?.minutes || new Array(60).fill(0);
  const now = minutes[minutes.length - 1];
  const { problem } = server;
  return h(
    "tr",
    { key: server.alias, "data-server": server.alias, "data-light": server.state },
    h(
      "th",
      { scope: "row" },
      link(serverPath(server.alias), visible(server.alias)),
      server.title && server.title !== server.alias ? under(short(server.title, 60)) : null,
      server.source === OWN ? null : under(`from ${visible(server.source)}`),
      problem && !isGrouped
        ? h(
            "span",
            { class: "under why", title: problem.hint },
            short(problemWords(problem, server), 200),
          )
        : null,
    ),
    h("td", { "data-label": "State" }, stateOf(server)),
    h("td", { "data-label": "Tools", class: "number" }, server.tools ? whole(server.tools) : "–"),
    h(
      "td",
      { "data-label": "Calls, last hour", class: "wide" },
      h(
        "span",
        { class: "line" },
        spark(minutes, `${count(figures?.calls || 0, "call")} in the last hour`),
        figures?.errors
          ? h("span", { class: "bad" }, count(figures.errors, "error"))
          : small(`${whole(now)}/min`),
      ),
    ),
    h("td", { "data-label": "p95", class: "number" }, ms(figures?.p95_ms)),
    h("td", { "data-label": "Memory", class: "number" }, bytes(figures?.memory_bytes)),
    h("td", { "data-label": "Tokens", class: "number" }, tokens(figures?.schema_tokens)),
    h("td", { class: "number act" }, problem ? mend(problem, server, "small") : null),
  );
}

/** @type {[string, string][]} */
const HEADS = [
  ["Server", ""],
  ["State", ""],
  ["Tools", ""],
  ["Calls, last hour", ""],
  ["p95", "95 of 100 calls of the last hour took no longer"],
  ["Memory", "of its own process, where it runs here"],
  ["Tokens", "about what its tools take of a model's context"],
];
const NUMBERS = new Set(["Tools", "p95", "Memory", "Tokens"]);

function heading([words, more]) {
  const kind = NUMBERS.has(words) ? "number" : undefined;
  return h("th", { scope: "col", title: more || undefined, class: kind }, words);
}

// Several servers with one cause: said once, mended at once.
function group({ cause, servers }) {
  const isGrouped = Boolean(cause) && servers.length > 1;
  const members = servers.map((server) => row(server, isGrouped));
  if (!isGrouped) return members;
  const hint = servers[0].problem.hint;
  return [
    h(
      "tr",
      { key: `cause ${cause}`, class: "cause" },
      h(
        "th",
        { scope: "rowgroup", colspan: HEADS.length, title: hint },
        visible(causeWords(servers)),
      ),
      h("td", { class: "number act" }, mendAll(servers)),
    ),
    members,
  ];
}

function fits(server) {
  if (filter.state && server.state !== filter.state) return false;
  const words = filter.words.toLowerCase();
  return [server.alias, server.title, server.source, server.state].some((text) =>
    text.toLowerCase().includes(words),
  );
}

function filters(servers, redraw) {
  const chip = (name, number) =>
    h(
      "button",
      {
        key: name,
        type: "button",
        class: "small",
        "aria-pressed": String(filter.state === name),
        on: {
          click: () => {
            filter.state = filter.state === name ? "" : name;
            redraw();
          },
        },
      },
      `${name || "all"} ${number}`,
    );
  const numberOf = (name) => servers.filter((server) => server.state === name).length;
  const states = ORDER.filter(numberOf);
  return h(
    "div",
    { class: "filter", role: "search", "aria-label": "Servers" },
    h("input", {
      type: "search",
      id: "filter",
      placeholder: "Filter by name or state",
      "aria-label": "Filter servers",
      value: filter.words,
      on: {
        input: (event) => {
          filter.words = event.target.value;
          redraw();
        },
      },
    }),
    h(
      "span",
      { class: "chips" },
      chip("", servers.length),
      states.map((name) => chip(name, numberOf(name))),
    ),
  );
}

function table(servers, redraw) {
  const rank = (server) => ORDER.indexOf(server.state);
  const shown = servers
    .filter(fits)
    .sort((a, b) => rank(a) - rank(b) || a.alias.localeCompare(b.alias));
  const none = h("tr", { key: "none" }, h("td", { colspan: HEADS.length + 1 }, "No server fits."));
  return h(
    "section",
    { class: "list" },
    filters(servers, redraw),
    h(
      "table",
      { class: "servers" },
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          HEADS.map(heading),
          h("th", { scope: "col" }, h("span", { class: "skip" }, "Action")),
        ),
      ),
      h("tbody", null, shown.length ? byCause(shown).map(group) : none),
    ),
  );
}

// The hub brings an example, so a yard is empty of what is yours long before it is empty.
const isOwn = (server) => server.source !== "bundled";

function nothing(found) {
  return empty(
    "No servers of your own yet.",
    h("p", null, visible(found)),
    h(
      "p",
      { class: "row" },
      h("a", { class: "button main", href: "/ui/setup" }, "Import from your clients"),
      h("a", { class: "button", href: "/ui/add" }, "Add a server"),
    ),
  );
}

// The servers of clients on this machine in words, looked for once a yard is empty.
function finder(place) {
  let isAsked = false;
  let words = "Bring in the servers of your clients, or add the first one yourself.";
  const tellOf = ({ servers, clients }) => {
    const taken = servers.filter((server) => server.action === "take");
    const names = new Set(taken.flatMap((server) => originsOf(server, clients).clients));
    if (taken.length) words = `Found ${count(taken.length, "server")} in ${[...names].join(", ")}.`;
    place.redraw();
  };
  return () => {
    if (!isAsked) ask("/setup").then(tellOf, () => {});
    isAsked = true;
    return words;
  };
}

// What no row can say: trouble of a source, or a second one of a server.
function others({ problems: all, servers }) {
  const inRows = new Set(
    servers.map(({ name, source, problem }) => problem && `${name}@${source} ${problem.code}`),
  );
  return all.filter(({ subject, code }) => !inRows.has(`${subject} ${code}`));
}

function draw(place, find) {
  const { status } = state;
  if (!status) return looking();
  const { servers } = status;
  const tools = servers.reduce((sum, server) => sum + (server.enabled ? server.tools : 0), 0);
  const rest = others(status);
  const isEmpty = !servers.some(isOwn);
  const sum = [
    count(servers.length, "server"),
    count(tools, "tool"),
    `${count(state.agents.size, "client")} in the last hour`,
  ];
  return [
    h(
      "div",
      { class: "top" },
      h("div", null, h("h1", null, "Servers"), quiet(sum.join(", "))),
      h(
        "span",
        { class: "row" },
        h("a", { class: "button", href: "/ui/clients" }, "Connect a client"),
        h("a", { class: isEmpty ? "button" : "button main", href: "/ui/add" }, "Add a server"),
      ),
    ),
    strip(servers, state.figures, state.p95, state.waiting),
    rest.length ? problems(rest, servers) : null,
    isEmpty ? nothing(find()) : null,
    servers.length ? table(servers, place.redraw) : null,
  ];
}

export function open(place) {
  const find = finder(place);
  return () => draw(place, find);
}
