// One call that is over: what was asked and answered, and the same again.

import { h } from "../lib/dom.js";
import { gone, looking, quiet, sheet } from "../lib/bits.js";
import { ask, order, segment } from "../lib/store.js";
import { button, confirmed, link, serverPath, time, toolPath, tree } from "../lib/parts.js";
import { bytes, ms, visible } from "../lib/words.js";
import { outcome } from "./history.js";

function open(place) {
  const path = `/history/${segment(place.params.id)}`;
  let found = null, missing = null, again = null;

  async function load() {
    try { found = await ask(path); } catch (error) { missing = error; }
    place.redraw();
  }

  async function replay() {
    const { call } = found;
    if (!await confirmed(`Call ${call.tool} of ${call.server} once more, with the same arguments? It may change something again.`, "Call it again")) return;
    again = { isBusy: true };
    place.redraw();
    const began = performance.now();
    try { again = { result: await order("POST", `${path}/replay`), ms: performance.now() - began }; } catch (error) { again = { error, ms: performance.now() - began }; }
    place.redraw();
  }

  const body = (value, words) => (value === null || value === undefined ? quiet(words) : tree(value));

  function repeated() {
    if (again.isBusy) return h("p", { class: "quiet", role: "status" }, "Calling …");
    const isSame = again.result !== undefined && JSON.stringify(again.result) === JSON.stringify(found.result);
    return h("section", { class: "card", "aria-label": "The same again", role: "status" }, h("h2", null, "The same again"),
      quiet(`It took ${ms(again.ms)}. `, again.error || found.result === null ? "" : isSame ? "The answer is the same." : "The answer differs."),
      again.error ? [h("p", { class: "bad" }, visible(again.error.message)), quiet(visible(again.error.hint))] : tree(again.result));
  }

  load();
  return () => {
    if (missing) return gone(missing, "/ui/history", "See all calls");
    if (!found) return looking();
    const { call } = found;
    return [
      h("p", { class: "crumbs" }, link("/ui/history", "History")),
      h("div", { class: "top" }, h("h1", null, visible(call.tool)),
        h("span", { class: "row" }, h("a", { class: "button", href: toolPath(call.server, call.tool) }, "Try it with other words"), button("Replay", replay, { class: "main" }))),
      h("div", { class: "card" }, h("dl", { class: "facts" },
        h("dt", null, "Server"), h("dd", null, link(serverPath(call.server), visible(call.server))),
        h("dt", null, "When"), h("dd", null, time(call.at)),
        h("dt", null, "Agent"), h("dd", null, link(`/ui/history?agent=${segment(call.agent)}`, visible(call.agent) || "–")),
        h("dt", null, "Took"), h("dd", null, ms(call.ms)),
        h("dt", null, "Asked, answered"), h("dd", null, `${bytes(call.asked)}, ${bytes(call.answered)}`),
        h("dt", null, "Ended"), h("dd", null, outcome(call), call.error ? h("span", { class: "under bad" }, visible(call.error)) : null))),
      again ? h("div", { key: "again" }, repeated()) : null,
      h("div", { key: "two", class: "two" },
        sheet("Arguments", body(found.arguments, "They were not kept. Start the hub with TOOLYARD_HISTORY_BODIES=on to keep them; only then can a call be repeated.")),
        sheet("Result", body(found.result, "It was not kept."))),
    ];
  };
}

export const page = { path: "/ui/history/:id", title: (params) => `Call ${params.id}`, open };
