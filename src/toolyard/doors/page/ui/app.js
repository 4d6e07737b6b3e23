// The shell: finds the page for an address, draws it, and draws it again when something changes.

import { byId, h, render } from "./lib/dom.js";
import { begin, enter, state, tell, watch } from "./lib/store.js";
import { openFinder } from "./lib/finder.js";
import { button, empty, link } from "./lib/parts.js";
import { count, exact, visible } from "./lib/words.js";
import { pages, sectionOf, sections } from "./pages/index.js";

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
  return empty("There is nothing at this address.", h("p", null, link("/ui", "See all servers")));
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

const LIVE = { live: "Live", connecting: "Connecting …", lost: "Connection lost, trying again …" };

function entry(section, here) {
  const isHere = section === here;
  const mark = current?.page === section.pages[0] ? "page" : "true";
  const problems = section.name === "Servers" ? state.status?.problems.length : 0;
  return h(
    "a",
    { href: section.pages[0].path, "aria-current": isHere ? mark : undefined },
    h(
      "svg",
      { class: "icon", viewBox: "0 0 20 20", "aria-hidden": "true" },
      h("path", { d: section.icon }),
    ),
    section.name,
    problems ? h("span", { class: "count", title: count(problems, "problem") }, problems) : null,
  );
}

function hub() {
  const { live, status, since } = state;
  return h(
    "div",
    { class: "hub" },
    h(
      "span",
      { class: `live ${live}`, role: "status" },
      h("i", { "aria-hidden": "true" }),
      h("span", null, LIVE[live]),
    ),
    button("◐", turn, { class: "theme", "aria-label": "Light or dark", title: "Light or dark" }),
    status
      ? h(
          "code",
          { class: "address", title: `for every client; since ${exact(since)}` },
          `${status.url.replace("http://", "")}/mcp`,
        )
      : null,
  );
}

function header() {
  const here = sectionOf(current?.page);
  return [
    h(
      "a",
      { class: "home", href: "/ui" },
      h("img", { src: "/ui/assets/icon.svg", alt: "", width: 24, height: 24 }),
      "Toolyard",
    ),
    h(
      "button",
      { type: "button", class: "find", on: { click: () => openFinder(go, turn) } },
      "Find ",
      h("kbd", null, "Ctrl K"),
    ),
    h(
      "nav",
      { "aria-label": "Pages" },
      sections.map((section) => entry(section, here)),
    ),
    hub(),
  ];
}

// The pages that stand beside the one that is shown.
function tabs() {
  const section = sectionOf(current?.page);
  const beside = section?.pages.filter((page) => page.tab) || [];
  if (beside.length < 2 || !current.page.tab) return null;
  const tab = (page) =>
    h(
      "a",
      { href: page.path, "aria-current": page === current.page ? "page" : undefined },
      page.tab,
    );
  return h("nav", { key: "tabs", class: "tabs", "aria-label": section?.name }, beside.map(tab));
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
  else if (current) render(main, tabs(), current.draw());
  reach();
}

/** @param {Event} event @param {string} selector the nearest element around the target that fits */
function within(event, selector) {
  return event.target instanceof Element ? event.target.closest(selector) : null;
}

// A menu closes by a click elsewhere, by what was chosen in it, and by Escape.
function closeMenus(target) {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    const summary = menu.querySelector("summary");
    if (!summary?.contains(target)) menu.removeAttribute("open");
  }
}

document.addEventListener("click", (event) => {
  closeMenus(event.target);
  const anchor = within(event, "a[href^='/ui']");
  const isModified = event.button || event.ctrlKey || event.metaKey || event.shiftKey;
  if (!anchor || event.defaultPrevented || isModified) return;
  event.preventDefault();
  go(anchor.getAttribute("href"));
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") closeMenus(null);
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
