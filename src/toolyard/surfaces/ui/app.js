// The shell: finds the page for an address, draws it, and draws it again when something changes.

import { h, render } from "./lib/dom.js";
import { begin, enter, state, tell, watch } from "./lib/store.js";
import { openFinder } from "./lib/finder.js";
import { button, empty, link } from "./lib/parts.js";
import { visible } from "./lib/words.js";
import { pages } from "./pages/index.js";

const main = document.getElementById("main");
const head = document.getElementById("head");
const routes = pages.map((page) => ({ page, parts: page.path.split("/") }));
let current = null, wanted = "";

function match(path) {
  const parts = path.replace(/\/+$/, "").split("/");
  for (const route of routes) {
    if (route.parts.length !== parts.length) continue;
    const params = {};
    const fits = route.parts.every((part, at) => {
      if (!part.startsWith(":")) return part === parts[at];
      try { params[part.slice(1)] = decodeURIComponent(parts[at]); } catch { return false; }
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
  const found = match(location.pathname);
  const ends = [];
  const place = { params: found?.params || {}, redraw: () => tell({}), onLeave: (end) => ends.push(end), go };
  // A page of its own each time: nothing of the last one may shine through.
  render(main);
  current = { page: found?.page, params: place.params, ends, draw: found ? found.page.open(place) : nowhere };
  document.title = `${visible(found ? found.page.title(place.params) : "Nothing here")} · Toolyard`;
  wanted = location.hash.slice(1);
  if (!wanted) scrollTo(0, 0);
  draw();
}

// What the address names is shown as soon as it is there: scrolled to, unfolded, ready to be typed in.
function reach() {
  const node = wanted && document.getElementById(wanted);
  if (!node) return;
  wanted = "";
  if (node.tagName === "DETAILS") node.open = true;
  node.scrollIntoView();
  node.focus();
}

function nowhere() {
  return empty("There is nothing at this address.", h("p", null, link("/ui", "Go to the yard")));
}

function letIn() {
  return empty("This browser is not let in.",
    h("p", null, "Run ", h("code", null, "toolyard status"), " on a terminal: it prints a link that opens this page."),
    h("p", null, button("Try again", () => location.reload())));
}

const LIVE = { live: "live", connecting: "connecting …", lost: "connection lost, trying again …" };

function header() {
  const words = pages.filter((page) => page.nav);
  // A page below another is marked by that one's word; all that is nowhere else is of the yard.
  const at = `${current?.page?.path}/`;
  const here = words.filter((page) => at.startsWith(`${page.path}/`)).pop();
  const nav = words.map((page) => h("a", {
    href: page.path, "aria-current": page !== here ? undefined : page === current.page ? "page" : "true",
  }, page.nav));
  return [
    h("a", { class: "home", href: "/ui" }, h("img", { src: "/ui/assets/icon.svg", alt: "", width: 24, height: 24 }), "Toolyard"),
    h("nav", { "aria-label": "Pages" }, nav),
    h("button", { type: "button", class: "find", on: { click: () => openFinder(go, turn) } }, "Find ", h("kbd", null, "Ctrl K")),
    h("span", { class: `live ${state.live}`, role: "status" }, h("i", { "aria-hidden": "true" }), LIVE[state.live]),
    h("button", { type: "button", class: "theme", "aria-label": "Light or dark", title: "Light or dark", on: { click: turn } }, "◐"),
  ];
}

function turn() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
  document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
  localStorage.setItem("theme", document.documentElement.dataset.theme);
}

function draw() {
  render(head, header());
  if (!state.isLetIn) render(main, letIn());
  else if (current) render(main, current.draw());
  reach();
}

document.addEventListener("click", (event) => {
  const anchor = event.target.closest?.("a[href^='/ui']");
  if (!anchor || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(anchor.getAttribute("href"));
});

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
  const wanted = (event.key === "k" && (event.ctrlKey || event.metaKey)) || (event.key === "/" && !typing && !event.ctrlKey);
  if (!wanted) return;
  event.preventDefault();
  openFinder(go, turn);
});

document.addEventListener("submit", (event) => event.preventDefault()); // what is sent is sent by script

addEventListener("popstate", arrive);
watch(draw);
await enter();
arrive();
begin();
