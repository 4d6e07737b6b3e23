// The shell: finds the page for an address, draws it, and draws it again when something changes.

import { byId, h, render } from "./lib/dom.js";
import { begin, enter, state, tell, watch } from "./lib/store.js";
import { openFinder } from "./lib/finder.js";
import { button, empty, link } from "./lib/parts.js";
import { visible } from "./lib/words.js";
import { pages } from "./pages/index.js";

const main = byId("main");
const head = byId("head");
const routes = pages.map((page) => ({ page, parts: page.path.split("/") }));
let current = null;
let wanted = ""; // the id that the address names, until it is on the page

function match(path) {
  const parts = path.replace(/\/+$/, "").split("/");
  for (const route of routes) {
    if (route.parts.length !== parts.length) continue;
    /** @type {Record<string, string>} */
    const params = {};
    const fits = route.parts.every((part, at) => {
      if (!part.startsWith(":")) return part === parts[at];
      try {
        params[part.slice(1)] = decodeURIComponent(parts[at]);
      } catch {
        return false;
      }
      return true;
    });
    if (fits) return { page: route.page, params };
  }
  return null;
}

export function go(path) {
  history.pushState(null, "", path);
  arrive();
  main.focus({ preventScroll: true });
}

function arrive() {
  for (const end of current?.ends || []) end();
  const route = match(location.pathname);
  /** @type {Array<() => void>} */
  const ends = [];
  const place = {
    params: route?.params || {},
    redraw: () => tell({}),
    onLeave: (/** @type {() => void} */ end) => void ends.push(end),
    go,
  };
  // A page of its own each time: nothing of the last one may shine through.
  render(main);
  const draw = route ? route.page.open(place) : nowhere;
  current = { page: route?.page, params: place.params, ends, draw };
  const title = route ? route.page.title(place.params) : "Nothing here";
  document.title = `${visible(title)} · Toolyard`;
  wanted = location.hash.slice(1);
  if (!wanted) scrollTo(0, 0);
  drawPage();
}

// What the address names is shown as soon as it is there: scrolled to, unfolded, with the focus.
function reach() {
  const node = wanted && document.getElementById(wanted);
  if (!node) return;
  wanted = "";
  if (node instanceof HTMLDetailsElement) node.open = true;
  node.scrollIntoView();
  node.focus();
}

function nowhere() {
  return empty("There is nothing at this address.", h("p", null, link("/ui", "Go to the yard")));
}

function letIn() {
  return empty(
    "This browser is not let in.",
    h(
      "p",
      null,
      "Run ",
      h("code", null, "toolyard status"),
      " on a terminal: it prints a link that opens this page.",
    ),
    h(
      "p",
      null,
      button("Try again", () => location.reload()),
    ),
  );
}

const LIVE = { live: "live", connecting: "connecting …", lost: "connection lost, trying again …" };

function header() {
  const words = pages.filter((page) => page.nav);
  // A page below another is marked by that one's word; all that is nowhere else is of the yard.
  const at = `${current?.page?.path}/`;
  const here = words.filter((page) => at.startsWith(`${page.path}/`)).pop();
  const mark = here === current?.page ? "page" : "true";
  const nav = words.map((page) =>
    h("a", { href: page.path, "aria-current": page === here ? mark : undefined }, page.nav),
  );
  return [
    h(
      "a",
      { class: "home", href: "/ui" },
      h("img", { src: "/ui/assets/icon.svg", alt: "", width: 24, height: 24 }),
      "Toolyard",
    ),
    h("nav", { "aria-label": "Pages" }, nav),
    h(
      "button",
      { type: "button", class: "find", on: { click: () => openFinder(go, turn) } },
      "Find ",
      h("kbd", null, "Ctrl K"),
    ),
    h(
      "span",
      { class: `live ${state.live}`, role: "status" },
      h("i", { "aria-hidden": "true" }),
      LIVE[state.live],
    ),
    h(
      "button",
      {
        type: "button",
        class: "theme",
        "aria-label": "Light or dark",
        title: "Light or dark",
        on: { click: turn },
      },
      "◐",
    ),
  ];
}

function turn() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
  document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
  localStorage.setItem("theme", document.documentElement.dataset.theme);
}

function drawPage() {
  render(head, header());
  if (!state.isLetIn) render(main, letIn());
  else if (current) render(main, current.draw());
  reach();
}

/** @param {Event} event @param {string} selector the nearest element around the target that fits */
function within(event, selector) {
  return event.target instanceof Element ? event.target.closest(selector) : null;
}

document.addEventListener("click", (event) => {
  const anchor = within(event, "a[href^='/ui']");
  const isModified = event.button || event.ctrlKey || event.metaKey || event.shiftKey;
  if (!anchor || event.defaultPrevented || isModified) return;
  event.preventDefault();
  go(anchor.getAttribute("href"));
});

document.addEventListener("keydown", (event) => {
  const isTyping = within(event, "input, textarea, select, [contenteditable]");
  const isCommand = event.key === "k" && (event.ctrlKey || event.metaKey);
  const isSlash = event.key === "/" && !isTyping && !event.ctrlKey;
  if (!isCommand && !isSlash) return;
  event.preventDefault();
  openFinder(go, turn);
});

// What is sent is sent by script.
document.addEventListener("submit", (event) => event.preventDefault());

addEventListener("popstate", arrive);
watch(drawPage);
await enter();
arrive();
begin();
