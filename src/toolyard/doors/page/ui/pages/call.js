// One call that is over: what was asked and answered, and the same again.

import { h } from "../lib/dom.js";
import { crumbs, facts, gone, looking, quiet, sheet, top, under } from "../lib/bits.js";
import { ask, askExactly, segment } from "../lib/store.js";
import { button, confirmed, link, time, tree } from "../lib/parts.js";
import { bytes, ms, visible } from "../lib/words.js";
import { waterfall } from "../lib/waterfall.js";
import { callerOf } from "../lib/callers.js";
import { callPath, callsPath, memberPath, serverPath, toolPath } from "../lib/paths.js";
import { writeJson } from "../lib/exactjson.js";
import { outcome } from "../lib/outcome.js";

const BESIDE = 8; // calls before and after it that are looked at
const LEAST_MS = 5000; // what is farther away has nothing to do with it

// A call as a span of time, beside those of the same client around it.
function spanOf(call, id) {
  const from = new Date(call.at).getTime();
  const words = `${visible(call.server)} / ${visible(call.tool)}`;
  const isThis = call.id === id;
  const isWrong = /error/.test(call.outcome);
  return {
    key: String(call.id),
    label: isThis ? words : link(callPath(call.id), words),
    from,
    to: from + call.ms,
    kind: isWrong ? "failed" : isThis ? "server" : "other",
    isThis,
  };
}

function near(calls, call) {
  const { from, to } = spanOf(call, call.id);
  const reach = Math.max(LEAST_MS, 2 * call.ms);
  return calls
    .map((other) => spanOf(other, call.id))
    .filter((span) => span.to > from - reach && span.from < to + reach)
    .sort((a, b) => a.from - b.from);
}

// The parts of its time that are known. A call that found its server ready and was asked nothing has
// but one.
function partsOf({ ms: end, start_ms: ready, person_at_ms: asked, person_ms: open }) {
  const answered = Math.min(asked + open, end);
  const parts = [
    { key: "start", label: "Starting the server", from: 0, to: ready, kind: "hub" },
    { key: "before", label: "Hub and server", from: ready, to: open ? asked : end, kind: "server" },
    { key: "person", label: "Waiting for the person", from: asked, to: answered, kind: "person" },
    { key: "after", label: "Hub and server", from: answered, to: open ? end : 0, kind: "server" },
  ];
  return waterfall(parts.filter(({ from, to }) => to > from));
}

// A client's word for itself: anybody can use it.
function calledItself({ agent }) {
  if (!agent) return "–";
  return [
    link(`${callsPath}?agent=${segment(agent)}`, visible(agent)),
    under("the name that it gave itself"),
  ];
}

function cameInAs({ caller }) {
  const words = callerOf(caller);
  return caller ? link(`${callsPath}?caller=${segment(caller)}`, words) : words;
}

export function open(place) {
  const path = `/history/${segment(place.params.id)}`;
  let found = null;
  let missing = null; // the error, if there is no such call
  let again = null; // the same call once more, and what came of it
  let beside = []; // calls of the same client at about the same time

  async function load() {
    try {
      found = await askExactly("GET", path);
    } catch (error) {
      missing = error;
    }
    place.redraw();
    if (found) lookBeside(found.call);
  }

  async function lookBeside({ id, agent }) {
    const query = `agent=${segment(agent)}&before=${id + BESIDE + 1}&limit=${2 * BESIDE + 1}`;
    try {
      beside = (await ask(`/history?${query}`)).calls;
    } catch {
      return; // the call itself is there
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
      const result = await askExactly("POST", `${path}/replay`);
      again = { result, ms: performance.now() - began };
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
      again.result !== undefined && writeJson(again.result) === writeJson(found.result);
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
    if (missing) return gone(missing, callsPath, "See all calls");
    if (!found) return looking();
    const { call } = found;
    const around = near(beside, call);
    return [
      crumbs("/ui/activity", "Activity", callsPath, "Calls"),
      top(
        visible(call.tool),
        "",
        h(
          "span",
          { class: "row" },
          h(
            "a",
            { class: "button", href: toolPath(call.server, call.tool) },
            "Try it with other arguments",
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
          ["Client", calledItself(call)],
          ["Came in as", cameInAs(call)],
          ["Member", call.member ? link(memberPath(call.member), visible(call.member)) : ""],
          ["Token", visible(call.token)],
          ["Address", visible(call.address)],
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
      call.start_ms || call.person_ms ? sheet("Time", partsOf(call)) : null,
      again ? h("div", { key: "again" }, repeated()) : null,
      around.length > 1
        ? sheet(`Calls of ${visible(call.agent) || "the client"} at that time`, waterfall(around))
        : null,
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
