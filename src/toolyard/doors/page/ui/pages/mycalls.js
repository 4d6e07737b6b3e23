// My calls: a member's own calls that are over, searched.

import { h } from "../lib/dom.js";
import { heads, looking, top, under } from "../lib/bits.js";
import { ask, listen, segment, state } from "../lib/store.js";
import { button, complain, empty, time } from "../lib/parts.js";
import { ms, short, visible } from "../lib/words.js";
import { choice, field, textInput } from "../lib/editing.js";
import { outcome } from "../lib/outcome.js";

const OUTCOMES = [
  ["", "any"],
  ["ok", "ok"],
  ["failed", "failed in any way"],
];
const PAUSE = 250;
const MOST_SHOWN = 500;

export function open(place) {
  const asked = { text: "", outcome: "" };
  let calls = null;
  let next = null; // where the next page begins
  let waiting = 0;
  let turn = 0; // how many searches were begun: only the answer to the last one counts

  async function load(before = 0) {
    turn += 1;
    const mine = turn;
    const query = `text=${segment(asked.text)}&outcome=${asked.outcome}&limit=50`;
    try {
      const page = await ask(`/my/calls?${query}${before ? `&before=${before}` : ""}`);
      if (mine !== turn) return;
      calls = [...(before ? calls : []), ...page.calls];
      next = calls.length < MOST_SHOWN ? page.next : null;
    } catch (error) {
      if (state.isLetIn) complain(error);
    }
    place.redraw();
  }

  function set(key, value) {
    asked[key] = value;
    place.redraw();
    clearTimeout(waiting);
    waiting = setTimeout(() => load(), PAUSE);
  }

  function filters() {
    return h(
      "div",
      { class: "filters", role: "search", "aria-label": "My calls" },
      field(
        "Search",
        textInput("by-text", asked.text, (value) => set("text", value), { type: "search" }),
      ),
      field(
        "Ended",
        choice("by-outcome", asked.outcome, OUTCOMES, (value) => set("outcome", value)),
      ),
    );
  }

  function row(call) {
    return h(
      "tr",
      { key: call.id },
      h("th", { scope: "row" }, visible(call.tool), under(visible(call.server))),
      h("td", { "data-label": "When" }, time(call.at)),
      h("td", { "data-label": "Client" }, visible(call.agent) || "–"),
      h("td", { "data-label": "Took", class: "number" }, ms(call.ms)),
      h(
        "td",
        { "data-label": "Ended" },
        outcome(call),
        call.error ? under(short(call.error, 120)) : null,
      ),
    );
  }

  function list() {
    if (!calls) return looking();
    if (!calls.length && (asked.text || asked.outcome)) return empty("No call fits.");
    const words = "Every call of a tool that your clients make is listed here.";
    if (!calls.length) return empty("No calls yet.", h("p", null, words));
    return [
      h(
        "table",
        { class: "stack" },
        heads(["Tool", "When", "Client", "Took", "Ended"], "Took"),
        h("tbody", null, calls.map(row)),
      ),
      next
        ? h(
            "p",
            { class: "row" },
            button("Show more", () => load(next)),
          )
        : null,
    ];
  }

  place.onLeave(() => clearTimeout(waiting));
  place.onLeave(listen((kind) => kind === "own" && (calls?.length || 0) <= 50 && load()));
  load();
  return () => [
    top("My calls", "What your clients called, and how it ended. Keepers see it, too."),
    filters(),
    h("div", { key: "calls" }, list()),
  ];
}
