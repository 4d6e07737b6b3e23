// Small pieces that every page is made of.

import { byId, h, rememberFocus, render } from "./dom.js";
import { quiet, small } from "./bits.js";
import { ago, exact, seconds, visible } from "./words.js";
import { order, refresh, segment } from "./store.js";

const LIGHTS = {
  ready: "ready",
  starting: "starting",
  installing: "installing",
  idle: "resting",
  failing: "failing",
  known: "found",
  waiting: "waits for approval",
  disabled: "disabled",
};

// What the light of a server shows: approval comes before everything a link may say.
export function lightOf(server) {
  if (!server.enabled) return "disabled";
  const holdsBack = server.held?.length || server.held_also?.length;
  if (holdsBack || /^pin-/.test(server.problem?.code || "")) return "waiting";
  // A list that failed is a warning, and so is half a package that is installed again.
  const warns = ["server-lists", "npx-broken"].includes(server.problem?.code);
  return server.problem && !warns ? "failing" : server.status;
}

/** How long a server has been starting: "34 s"; empty if it is not. */
export function startingFor(server) {
  return server.starting_since ? seconds(Date.now() / 1000 - server.starting_since) : "";
}

/** The light of a server, and for how long it has been starting. */
export function stateOf(server) {
  const kind = lightOf(server);
  const words = LIGHTS[kind] || kind;
  const took = startingFor(server);
  return light(kind, took && kind === server.status ? `${words}, ${took}` : words);
}

export function light(kind, words = LIGHTS[kind] || kind) {
  return h("span", { class: `light ${kind}` }, h("i", { "aria-hidden": "true" }), words);
}

export function time(when) {
  return h("time", { datetime: String(when), title: exact(when) }, ago(when));
}

export function link(href, ...kids) {
  return h("a", { href }, ...kids);
}

export const serverPath = (alias) => `/ui/servers/${segment(alias)}`;
export const toolPath = (alias, tool) => `${serverPath(alias)}/tools/${segment(tool)}`;

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
  if (value === null || typeof value !== "object") {
    const kind = value === null ? "null" : typeof value;
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

// Say something in passing; read out by screen readers.
export function say(words, kind = "") {
  clearTimeout(clearing);
  const region = byId("said");
  render(region, h("p", { class: kind }, visible(words)));
  clearing = setTimeout(() => render(region), kind ? 9000 : 4000);
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

// A question before what cannot be taken back; the safe answer has the focus.
export function confirmed(question, yes) {
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
          button("Leave it", () => end(false), { autofocus: true }),
          button(yes, () => end(true), { class: "danger" }),
        ),
      ),
    );
  });
}

// The one button that mends a problem, where one can.
export function mend(problem, server) {
  if (!server) return null;
  const path = `/servers/${segment(server.alias)}`;
  if (/^pin-(changed|launch|restless)/.test(problem.code))
    return link(`${serverPath(server.alias)}#changes`, "Look and approve");
  if (problem.code === "auth-needed") {
    return button("Log in", async () => {
      const page = await run(
        "A login page was opened.",
        "POST",
        `/auth/${segment(server.alias)}/login`,
      );
      if (page && /^https?:/.test(page.url)) window.open(page.url, "_blank", "noopener,noreferrer");
    });
  }
  if (problem.code === "secret-missing") return null;
  return button("Try again", () => run(`${server.alias} runs.`, "POST", `${path}/activate`));
}

// What is wrong, each with what to do: a link `to` where, or the button that mends it.
export function problems(list, servers = [], label = "Problems") {
  return h(
    "ul",
    { class: "problems", "aria-label": label },
    list.map((problem) => {
      const server = servers.find(({ name, source }) => `${name}@${source}` === problem.subject);
      return h(
        "li",
        { key: `${problem.code} ${problem.subject} ${problem.text}` },
        h(
          "div",
          null,
          h(
            "p",
            { class: "title" },
            server ? [link(serverPath(server.alias), visible(server.alias)), " — "] : null,
            visible(problem.text),
          ),
          quiet(visible(problem.hint)),
        ),
        problem.to ? link(problem.to, "See it") : mend(problem, server),
      );
    }),
  );
}
