// Calls: those that are over, searched and laid out along time.

import { h } from "../lib/dom.js";
import { heads, looking, quiet, top, under } from "../lib/bits.js";
import { ask, listen, segment, state } from "../lib/store.js";
import { button, complain, empty, link, time } from "../lib/parts.js";
import { ms, short, visible } from "../lib/words.js";
import { choice, field, textInput } from "../lib/editing.js";
import { timeline } from "../lib/timeline.js";
import { callerOf } from "../lib/callers.js";
import { outcome } from "../lib/outcome.js";
import { callPath } from "../lib/paths.js";

const OUTCOMES = [
  ["", "any"],
  ["ok", "ok"],
  ["failed", "failed in any way"],
  ["tool-error", "the tool failed"],
  ["error", "the server failed"],
  ["cancelled", "cancelled"],
];
const SINCE = [
  ["", "ever"],
  ["15m", "15 minutes"],
  ["1h", "an hour"],
  ["1d", "a day"],
  ["7d", "a week"],
];
const KEYS = ["text", "server", "tool", "agent", "caller", "outcome", "since"];
const PAUSE = 250;
const MOST_SHOWN = 500;

export function open(place) {
  const told = new URLSearchParams(location.search);
  const asked = Object.fromEntries(KEYS.map((key) => [key, told.get(key) || ""]));
  let calls = null;
  let next = null; // where the next page begins
  let stopped = false; // there was more to look for a text in than one answer may read
  let waiting = 0;
  let turn = 0; // how many searches were begun: only the answer to the last one counts
  let fresh = 0; // how many calls were heard of since

  const query = () =>
    KEYS.filter((key) => asked[key])
      .map((key) => `${key}=${segment(asked[key])}`)
      .join("&");

  async function load(before = 0) {
    turn += 1;
    const mine = turn;
    try {
      const page = await ask(`/history?${query()}&limit=50${before ? `&before=${before}` : ""}`);
      if (mine !== turn) return;
      calls = [...(before ? calls : []), ...page.calls];
      next = calls.length < MOST_SHOWN ? page.next : null;
      stopped = page.stopped;
      if (!before) fresh = 0;
    } catch (error) {
      complain(error);
    }
    place.redraw();
  }

  function set(key, value) {
    asked[key] = value;
    history.replaceState(null, "", `${location.pathname}${query() ? `?${query()}` : ""}`);
    place.redraw();
    clearTimeout(waiting);
    waiting = setTimeout(() => load(), PAUSE);
  }

  const text = (key, label) =>
    field(
      label,
      textInput(`by-${key}`, asked[key], (value) => set(key, value), { type: "search" }),
    );
  function filters() {
    const names = new Set((state.status?.servers || []).map((server) => server.alias));
    if (asked.server) names.add(asked.server);
    const servers = [...names].sort().map((name) => [name, visible(name)]);
    return h(
      "div",
      { class: "filters", role: "search", "aria-label": "Calls" },
      text("text", "Search"),
      field(
        "Server",
        choice("by-server", asked.server, [["", "any"], ...servers], (value) =>
          set("server", value),
        ),
      ),
      text("tool", "Tool"),
      text("agent", "Client"),
      text("caller", "Came in as"),
      field(
        "Ended",
        choice("by-outcome", asked.outcome, OUTCOMES, (value) => set("outcome", value)),
      ),
      field(
        "Within",
        choice("by-since", asked.since, SINCE, (value) => set("since", value)),
      ),
    );
  }

  function row(call) {
    return h(
      "tr",
      { key: call.id },
      h(
        "th",
        { scope: "row" },
        link(callPath(call.id), visible(call.tool)),
        under(visible(call.server)),
      ),
      h("td", { "data-label": "When" }, time(call.at)),
      h("td", { "data-label": "Client" }, visible(call.agent) || "–"),
      h(
        "td",
        { "data-label": "Came in as" },
        callerOf(call.caller),
        call.address ? under(`from ${visible(call.address)}`) : null,
      ),
      h("td", { "data-label": "Took", class: "number" }, ms(call.ms)),
      h(
        "td",
        { "data-label": "Ended" },
        outcome(call),
        call.error ? under(short(call.error, 120)) : null,
      ),
    );
  }

  function showAll() {
    for (const key of KEYS) asked[key] = "";
    set("text", "");
  }

  const older = (words) => button(words, () => load(next));
  const searchOn = () => [
    quiet(`Arguments and results were searched back to call ${next}. `),
    older("Search older calls"),
  ];

  function nothing() {
    if (stopped && next)
      return empty("No call fits so far.", h("p", null, searchOn(), button("Show all", showAll)));
    if (query()) return empty("No call fits.", h("p", null, button("Show all", showAll)));
    const words =
      "Choose a tool on the page of a server and try it, or let a client work with the hub. What was called is listed here.";
    return empty("Nothing was called yet.", h("p", null, words));
  }

  function list() {
    if (!calls.length) return nothing();
    return [
      calls.length > 1 ? timeline(calls, (call) => place.go(callPath(call.id))) : null,
      h(
        "table",
        { class: "stack" },
        heads(["Tool", "When", "Client", "Came in as", "Took", "Ended"], "Took"),
        h("tbody", null, calls.map(row)),
      ),
      next ? h("p", { class: "lead" }, stopped ? searchOn() : older("Show older")) : null,
    ];
  }

  // What somebody reads does not move away under them: newer calls wait until asked for.
  place.onLeave(
    listen((kind, groups) => {
      if (kind !== "calls") return;
      fresh += groups.reduce((sum, group) => sum + group.calls, 0);
      if (calls && !calls.length) load();
      else place.redraw();
    }),
  );
  place.onLeave(() => clearTimeout(waiting));
  load();
  return () => [
    top(
      "Calls",
      state.hasHistory ? "Finished calls, newest first." : "History is switched off.",
      fresh ? button(`Show ${fresh} newer`, () => load()) : null,
    ),
    filters(),
    h("div", { key: "calls" }, calls ? list() : looking()),
  ];
}
