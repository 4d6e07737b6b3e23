// One call that is over: what was asked and answered, and the same again.

import { h } from "../lib/dom.js";
import { crumbs, facts, gone, looking, quiet, sheet, top } from "../lib/bits.js";
import { ask, order, segment } from "../lib/store.js";
import { button, confirmed, link, serverPath, time, toolPath, tree } from "../lib/parts.js";
import { bytes, ms, visible } from "../lib/words.js";
import { outcome } from "./history.js";

function open(place) {
  const path = `/history/${segment(place.params.id)}`;
  let found = null;
  let missing = null; // the error, if there is no such call
  let again = null; // the same call once more, and what came of it

  async function load() {
    try {
      found = await ask(path);
    } catch (error) {
      missing = error;
    }
    place.redraw();
  }

  async function replay() {
    const { call } = found;
    const question =
      `Call ${call.tool} of ${call.server} once more, with the same arguments? ` +
      "It may change something again.";
    if (!(await confirmed(question, "Call it again"))) return;
    again = { isBusy: true };
    place.redraw();
    const began = performance.now();
    try {
      again = { result: await order("POST", `${path}/replay`), ms: performance.now() - began };
    } catch (error) {
      again = { error, ms: performance.now() - began };
    }
    place.redraw();
  }

  const body = (value, words) =>
    value === null || value === undefined ? quiet(words) : tree(value);

  function comparison() {
    if (again.error || found.result === null) return "";
    const isSame =
      again.result !== undefined && JSON.stringify(again.result) === JSON.stringify(found.result);
    return isSame ? "The answer is the same." : "The answer differs.";
  }

  function repeated() {
    if (again.isBusy) return h("p", { class: "quiet", role: "status" }, "Calling …");
    return h(
      "section",
      { class: "card", "aria-label": "The same again", role: "status" },
      h("h2", null, "The same again"),
      quiet(`It took ${ms(again.ms)}. `, comparison()),
      again.error
        ? [h("p", { class: "bad" }, visible(again.error.message)), quiet(visible(again.error.hint))]
        : tree(again.result),
    );
  }

  load();
  return () => {
    if (missing) return gone(missing, "/ui/history", "See all calls");
    if (!found) return looking();
    const { call } = found;
    return [
      crumbs("/ui/history", "History"),
      top(
        visible(call.tool),
        h(
          "span",
          { class: "row" },
          h(
            "a",
            { class: "button", href: toolPath(call.server, call.tool) },
            "Try it with other words",
          ),
          button("Replay", replay, {
            class: "main",
            disabled: !found.arguments,
            title: found.arguments ? undefined : "Its arguments were not kept.",
          }),
        ),
      ),
      h(
        "div",
        { class: "card" },
        facts([
          ["Server", link(serverPath(call.server), visible(call.server))],
          ["When", time(call.at)],
          ["Agent", link(`/ui/history?agent=${segment(call.agent)}`, visible(call.agent) || "–")],
          ["Token", visible(call.caller)],
          ["Took", ms(call.ms)],
          ["Asked, answered", `${bytes(call.asked)}, ${bytes(call.answered)}`],
          [
            "Ended",
            [
              outcome(call),
              call.error ? h("span", { class: "under bad" }, visible(call.error)) : null,
            ],
          ],
        ]),
      ),
      again ? h("div", { key: "again" }, repeated()) : null,
      h(
        "div",
        { key: "two", class: "two" },
        sheet(
          "Arguments",
          body(
            found.arguments,
            "They were not kept. Start the hub with TOOLYARD_HISTORY_BODIES=on to keep them; only then can a call be repeated.",
          ),
        ),
        sheet("Result", body(found.result, "It was not kept.")),
      ),
    ];
  };
}

export const page = { path: "/ui/history/:id", title: (params) => `Call ${params.id}`, open };
