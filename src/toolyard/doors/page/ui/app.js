// The shell: finds the page for an address, draws it, and draws it again when something changes.

import { byId, h, render } from "./lib/dom.js";
import { begin, enter, retry, state, tell, watch } from "./lib/store.js";
import { remember } from "./lib/memory.js";
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
  const title = route ? route.page.title(place.params) : "Nothing here";
  const draw = route ? openPage(route.page, place) : nowhere;
  current = { page: route?.page, params: place.params, ends, draw, title };
  document.title = `${visible(title)} · Toolyard`;
  wanted = location.hash.slice(1);
  if (!wanted) scrollTo(0, 0);
  drawPage();
}

// A page that cannot even be opened is as broken as one that cannot be drawn.
function openPage(page, place) {
  try {
    return page.open(place);
  } catch (error) {
    reportError(error);
    return () => broken(error);
  }
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

const reload = () => location.reload();

function letIn() {
  const why = state.entrance?.message;
  return h(
    "div",
    { class: "empty" },
    h("h1", null, "This browser is not let in"),
    why ? h("p", null, `${visible(why[0].toUpperCase() + why.slice(1))}.`) : null,
    h(
      "p",
      null,
      "Run ",
      h("code", null, "toolyard status"),
      " on a terminal: it prints a link that opens this page.",
    ),
    h("p", { class: "row" }, button("Try again", reload)),
  );
}

// The hub does not say how it is: what it says instead, and a way not to wait for the next try.
function unanswered(again) {
  const { trouble } = state;
  return h(
    "div",
    { key: "unanswered", class: "empty", role: "status" },
    h("p", { class: "title" }, trouble ? visible(trouble.message) : "The hub does not answer."),
    h("p", null, visible(trouble?.hint || "It may be busy, or restarting. Trying again …")),
    h("p", { class: "row" }, button("Try now", again)),
  );
}

function broken(error) {
  return empty(
    "This page cannot be shown.",
    h("p", null, visible(error.message)),
    h("p", { class: "row" }, button("Load it again", reload)),
  );
}

/** @param {import("./lib/dom.js").Kid} kid @returns {boolean} */
function hasHeading(kid) {
  if (Array.isArray(kid)) return kid.some(hasHeading);
  if (kid === null || typeof kid !== "object") return false;
  return kid.tag === "h1" || hasHeading(kid.kids);
}

// Whatever a page shows, or fails to show, stands under a heading.
function content(kids) {
  if (hasHeading(kids)) return [tabs(), kids];
  const isLost = (state.live === "lost" || state.trouble) && !state.status;
  const heading = h("div", { key: "heading", class: "top" }, h("h1", null, visible(current.title)));
  return [tabs(), heading, isLost ? unanswered(retry) : kids];
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
  remember("theme", document.documentElement.dataset.theme);
}

function drawMain() {
  if (!state.isLetIn) render(main, letIn());
  else if (current) render(main, content(current.draw()));
  else if (state.live === "lost") render(main, h("h1", null, "Toolyard"), unanswered(reload));
}

let wasLost = false;

// What could not be asked while the hub was away is asked again once it is back.
function isBack() {
  const isOver = wasLost && state.live === "live" && state.status && !state.trouble;
  wasLost = state.live === "lost" || (wasLost && !isOver);
  return isOver && main.querySelector(".skeleton") !== null;
}

function drawPage() {
  render(head, header());
  try {
    drawMain();
  } catch (error) {
    reportError(error);
    render(main, content(broken(error)));
  }
  reach();
  if (current && isBack()) arrive();
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
