// Small pieces that every page is made of.

import { byId, h, rememberFocus, render } from "./dom.js";
import { small } from "./bits.js";
import { ExactNumber } from "./exactjson.js";
import { ago, exact, seconds, visible } from "./words.js";
import { order, refresh } from "./store.js";

/**
 * A dot in the colour of a state, and its word.
 * @param {string} kind a state of a server
 * @param {string} [words] another word for something that is no server
 */
export function light(kind, words = kind) {
  return h("span", { class: `light ${kind}` }, h("i", { "aria-hidden": "true" }), words);
}

/** How long a server has been starting: "34 s"; empty if it is not. */
export function startingFor(server) {
  return server.starting_since ? seconds(Date.now() / 1000 - server.starting_since) : "";
}

/** The light of a server, and for how long it has been starting. */
export function stateOf(server) {
  const took = startingFor(server);
  const isStarting = took && server.state === server.status;
  return light(server.state, isStarting ? `${server.state}, ${took}` : server.state);
}

export function time(when) {
  return h("time", { datetime: String(when), title: exact(when) }, ago(when));
}

export function link(href, ...kids) {
  return h("a", { href }, ...kids);
}

export function button(words, press, attrs = {}) {
  return h("button", { type: "button", ...attrs, on: { click: press } }, words);
}

export function empty(title, ...kids) {
  return h("div", { class: "empty" }, h("p", { class: "title" }, title), ...kids);
}

export function fold(title, kids, attrs = {}) {
  return h("details", attrs, h("summary", null, title), kids);
}

export function code(words, attrs = {}) {
  return h("pre", { tabindex: "0", ...attrs }, visible(words));
}

// Sixty bars would say no more than a line, and cost sixty nodes.
export function spark(minutes, label) {
  const top = Math.max(1, ...minutes);
  const step = 120 / (minutes.length - 1);
  const points = minutes.map((calls, at) => {
    const x = at * step;
    const y = 22 - (calls / top) * 20;
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  });
  return h(
    "svg",
    {
      class: "spark",
      viewBox: "0 0 120 24",
      role: "img",
      "aria-label": label,
      preserveAspectRatio: "none",
    },
    h("polygon", { points: `0,24 ${points.join(" ")} 120,24` }),
    h("polyline", { points: points.join(" ") }),
  );
}

// JSON as a tree that folds; long lists are cut until they are opened.
export function tree(value, name = "", depth = 0) {
  const label = name === "" ? null : [h("span", { class: "name" }, visible(name)), ": "];
  const isNumber = value instanceof ExactNumber;
  if (value === null || isNumber || typeof value !== "object") {
    const kind = value === null ? "null" : isNumber ? "number" : typeof value;
    const said = kind === "string" ? JSON.stringify(visible(value)) : String(value);
    return h("div", { class: "leaf" }, label, h("span", { class: kind }, said));
  }
  const entries = Object.entries(value);
  const sum = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  if (!entries.length)
    return h("div", { class: "leaf" }, label, Array.isArray(value) ? "[]" : "{}");
  const shown = entries.slice(0, 200);
  const rest = entries.length - shown.length;
  return h(
    "details",
    { class: "tree", open: depth < 2 && entries.length < 50 },
    h("summary", null, label, small(sum)),
    shown.map(([key, item]) => tree(item, key, depth + 1)),
    rest ? h("div", { class: "leaf quiet" }, `and ${rest} more`) : null,
  );
}

let clearing = null;

/**
 * Say something in passing; read out by screen readers.
 * @param {string} words
 * @param {string} [kind] "bad" for what went wrong
 * @param {import("./dom.js").Kid} [action] a button beside the words; they stay longer then
 */
export function say(words, kind = "", action = null) {
  clearTimeout(clearing);
  const region = byId("said");
  render(region, h("p", { class: kind }, h("span", null, visible(words)), action));
  const patience = action ? 20000 : 4000;
  clearing = setTimeout(unsay, kind ? 9000 : patience);
}

// Take away what was said, but not from under the finger of who is about to press its button.
function unsay() {
  const region = byId("said");
  if (region.matches(":focus-within, :hover")) clearing = setTimeout(unsay, 4000);
  else render(region);
}

export function complain(error) {
  say([error.message, error.hint].filter(Boolean).join(". "), "bad");
}

/**
 * Give an order, say how it went, and look again.
 * @param {string} words what is said if it went well
 * @param {string} method
 * @param {string} path
 * @param {any} [body]
 */
export async function run(words, method, path, body) {
  try {
    const answer = await order(method, path, body);
    say(words);
    refresh();
    return answer;
  } catch (error) {
    complain(error);
    return null;
  }
}

/**
 * Give several orders at once; the first that is refused is told of.
 * @param {string[]} paths
 * @param {string} words what is said if all went well
 */
export async function orderAll(paths, words) {
  const answers = await Promise.allSettled(paths.map((path) => order("POST", path)));
  const refused = answers.find((answer) => answer.status === "rejected");
  if (refused?.status === "rejected") complain(refused.reason);
  else say(words);
  refresh();
}

// A question before what cannot be taken back; the safe answer has the focus.
export function confirmed(question, yes, no = "Leave it") {
  return new Promise((resolve) => {
    const above = byId("above");
    const giveFocusBack = rememberFocus();
    const end = (answer) => {
      render(above);
      giveFocusBack();
      resolve(answer);
    };
    render(
      above,
      h(
        "dialog",
        {
          "aria-label": question,
          made: (node) => node.showModal(),
          on: { close: () => end(false), cancel: () => end(false) },
        },
        h("p", null, visible(question)),
        h(
          "p",
          { class: "row" },
          button(no, () => end(false), { autofocus: true }),
          button(yes, () => end(true), { class: "danger" }),
        ),
      ),
    );
  });
}
