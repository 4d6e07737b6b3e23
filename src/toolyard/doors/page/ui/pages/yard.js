// The yard: every server, how it is doing, and what wants a hand.

import { h, remembered } from "../lib/dom.js";
import { looking, quiet, small, top, under } from "../lib/bits.js";
import { state } from "../lib/store.js";
import {
  empty,
  lightOf,
  link,
  problems,
  serverPath,
  spark,
  startingFor,
  stateOf,
} from "../lib/parts.js";
import { bytes, count, exact, ms, seconds, short, tokens, visible, whole } from "../lib/words.js";
import { picture } from "../lib/picture.js";

const ORDER = ["waiting", "failing", "installing", "starting", "ready", "idle", "known", "disabled"];

const rows = new Map();

function row(server) {
  const figures = state.figures.get(server.alias);
  const sign = JSON.stringify([server, figures, startingFor(server)]);
  return remembered(rows, server.alias, sign, () => makeRow(server, figures));
}

function makeRow(server, figures) {
  const kind = lightOf(server);
  const minutes = figures?.minutes || new Array(60).fill(0);
  const now = minutes[minutes.length - 1];
  const errors = figures?.errors || 0;
  return h(
    "tr",
    { key: server.alias, "data-server": server.alias, "data-light": kind },
    h(
      "th",
      { scope: "row" },
      link(serverPath(server.alias), visible(server.alias)),
      server.title && server.title !== server.alias ? under(short(server.title, 60)) : null,
    ),
    h("td", { "data-label": "State" }, stateOf(server)),
    h("td", { "data-label": "From" }, visible(server.source)),
    h("td", { "data-label": "Tools", class: "number" }, whole(server.tools)),
    h(
      "td",
      { "data-label": "Calls, last hour", class: "wide" },
      h(
        "span",
        { class: "line" },
        spark(minutes, `${count(figures?.calls || 0, "call")} in the last hour`),
        small(`${whole(now)}/min`),
      ),
    ),
    h("td", { "data-label": "p95", class: "number" }, ms(figures?.p95_ms)),
    h("td", { "data-label": "Errors", class: errors ? "number bad" : "number" }, whole(errors)),
    h("td", { "data-label": "Memory", class: "number" }, bytes(figures?.memory_bytes)),
    h("td", { "data-label": "Schema tokens", class: "number" }, tokens(figures?.schema_tokens)),
  );
}

const HEADS = [
  ["Server", ""],
  ["State", ""],
  ["From", "which source told of it"],
  ["Tools", ""],
  ["Calls, last hour", ""],
  ["p95", "95 of 100 calls of the last hour took no longer"],
  ["Errors", "in the last hour"],
  ["Memory", "of its own process, where it runs here"],
  ["Schema tokens", "about what its tools take of a model's context"],
];

const NUMBERS = new Set(["Tools", "p95", "Errors", "Memory", "Schema tokens"]);

function table(servers) {
  const rank = (server) => ORDER.indexOf(lightOf(server));
  const sorted = [...servers].sort((a, b) => rank(a) - rank(b) || a.alias.localeCompare(b.alias));
  return h(
    "table",
    { class: "servers" },
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        HEADS.map(([words, more]) => {
          const kind = NUMBERS.has(words) ? "number" : undefined;
          return h("th", { scope: "col", title: more || undefined, class: kind }, words);
        }),
      ),
    ),
    h("tbody", null, sorted.map(row)),
  );
}

// The hub brings an example, so a yard is empty of what is yours long before it is empty.
const isOwn = (server) => server.source !== "bundled";

function nothing() {
  return empty(
    "No servers of your own yet.",
    h(
      "p",
      null,
      "Add one on a terminal: ",
      h("code", null, "toolyard add NAME -- COMMAND"),
      " or ",
      h("code", null, "toolyard add NAME --url URL"),
      ".",
    ),
    h("p", null, "Or ", link("/ui/catalog", "take one from the catalog"), "."),
  );
}

function draw() {
  const status = state.status;
  if (!status) return looking();
  const ready = status.servers.filter((server) => lightOf(server) === "ready").length;
  const tools = status.servers.reduce(
    (sum, server) => sum + (server.enabled ? server.tools : 0),
    0,
  );
  const cost = [...state.figures.values()].reduce((sum, row) => sum + row.schema_tokens, 0);
  const figures = [
    count(status.servers.length, "server"),
    `${ready} ready`,
    count(tools, "tool"),
    `${tokens(cost)} tokens of schemas`,
  ];
  return [
    top(
      "Servers",
      quiet(
        `${figures.join(", ")}, `,
        h(
          "span",
          { title: `since ${exact(state.since)}` },
          `up ${seconds((Date.now() - state.since) / 1000)}`,
        ),
      ),
    ),
    status.problems.length ? problems(status.problems, status.servers) : null,
    status.servers.some(isOwn) ? null : nothing(),
    status.servers.length ? [picture(), table(status.servers)] : null,
    quiet("One address for every client: ", h("code", null, `${status.url}/mcp`)),
  ];
}

export const page = { path: "/ui", title: () => "Servers", tab: "Servers", open: () => draw };
