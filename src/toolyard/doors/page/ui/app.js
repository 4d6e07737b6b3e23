// The shell: finds the page for an address, draws it, and draws it again when something changes.

import "./lib/menus.js";
import { byId, h, render } from "./lib/dom.js";
import { keepFocus } from "./lib/focus.js";
import {
  begin,
  enter,
  isNamed,
  isPlainMember,
  refresh,
  retry,
  state,
  tell,
  watch,
} from "./lib/store.js";
import { remember } from "./lib/memory.js";
import { openFinder } from "./lib/finder.js";
import { button, confirmed, empty, link, say } from "./lib/parts.js";
import { waitingPath } from "./lib/paths.js";
import { count, exact, visible } from "./lib/words.js";
import { sectionOf, sectionsFor } from "./pages/index.js";

const main = byId("main");
const head = byId("head");
let current = null;
let wanted = ""; // the id that the address names, until it is on the page

function match(path) {
  const parts = path.replace(/\/+$/, "").split("/");
  for (const page of sectionsFor(state.me).flatMap((section) => section.pages)) {
    const wants = page.path.split("/");
    if (wants.length !== parts.length) continue;
    /** @type {Record<string, string>} */
    const params = {};
    const fits = wants.every((part, at) => {
      if (!part.startsWith(":")) return part === parts[at];
      try {
        params[part.slice(1)] = decodeURIComponent(parts[at]);
      } catch {
        return false;
      }
      return true;
    });
    if (fits) return { page, params };
  }
  return null;
}

let visits = 0; // of two pages that are on their way, the one asked for last is shown

// Fetch the code of the page at a path, while the one before it stays.
async function prepare(path) {
  const visit = ++visits;
  const route = match(path);
  main.setAttribute("aria-busy", "true");
  const open = route ? await codeOf(route.page) : () => nowhere;
  if (visit !== visits) return null;
  main.removeAttribute("aria-busy");
  return { page: route?.page, params: route?.params || {}, open };
}

async function codeOf(page) {
  try {
    return (await page.load()).open;
  } catch (error) {
    reportError(error);
    return () => unloaded;
  }
}

const isUnsaved = () => Boolean(current?.isUnsaved());

/** Ask whether what was typed and not saved may be lost, if there is any. */
async function mayLeave() {
  if (!isUnsaved()) return true;
  return confirmed("Leave without saving your changes?", "Discard changes", "Keep editing");
}

export async function go(path) {
  if (!(await mayLeave())) return;
  const home = sectionsFor(state.me)[0].pages[0].path;
  const target = path === "/ui" ? home : path;
  const visit = await prepare(new URL(target, location.href).pathname);
  if (!visit) return;
  history.pushState(null, "", target);
  main.focus({ preventScroll: true });
  show(visit);
}

async function arrive() {
  // The first page of a member is another than the hub's owner has.
  if (isPlainMember() && location.pathname === "/ui")
    history.replaceState(null, "", sectionsFor(state.me)[0].pages[0].path);
  const visit = await prepare(location.pathname);
  if (visit) show(visit);
}

// Back and forward: the address has changed already, and changes again for who stays.
async function travel() {
  const target = location.href;
  if (isUnsaved()) history.pushState(null, "", current.address);
  if (!(await mayLeave())) return;
  if (location.href !== target) history.replaceState(null, "", target);
  arrive();
}

function titleOf(page, params) {
  return page ? page.title.replace(/:(\w+)/g, (_, name) => params[name]) : "Nothing here";
}

function show({ page, params, open }) {
  for (const end of current?.ends || []) end();
  /** @type {Array<() => void>} */
  const ends = [];
  let isUnsaved = () => false;
  const place = {
    params,
    redraw: () => tell({}),
    onLeave: (/** @type {() => void} */ end) => void ends.push(end),
    askIf: (/** @type {() => boolean} */ isDirty) => {
      isUnsaved = isDirty;
    },
    go,
  };
  if (main.contains(document.activeElement)) main.focus({ preventScroll: true });
  // A page of its own each time: nothing of the last one may shine through.
  render(main);
  current = {
    page,
    params,
    ends,
    address: location.href,
    isUnsaved: () => isUnsaved(),
    draw: openPage(open, place),
    title: titleOf(page, params),
  };
  document.title = `${visible(current.title)} · Toolyard`;
  wanted = location.hash.slice(1);
  if (!wanted) scrollTo(0, 0);
  drawPage();
}

// A page that cannot even be opened is as broken as one that cannot be drawn.
function openPage(open, place) {
  try {
    return open(place);
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
  const words = isPlainMember() ? "See your clients" : "See all servers";
  return empty("There is nothing at this address.", h("p", null, link("/ui", words)));
}

const reload = () => location.reload();

const sentence = (why) => h("p", null, `${visible(why[0].toUpperCase() + why.slice(1))}.`);

async function logIn() {
  const { begin: leave } = await import("./lib/login.js");
  const isPage = location.pathname.startsWith("/ui/") && location.pathname !== "/ui/login";
  try {
    await leave(isPage ? location.pathname + location.search : "/ui");
  } catch (error) {
    tell({ entrance: error });
  }
}

async function logOut() {
  (await import("./lib/login.js")).logOut();
}

// People come in by their own name here; the printed link is for whoever runs the hub.
function askName() {
  const why = state.entrance?.message;
  return h(
    "div",
    { class: "empty" },
    h("h1", null, "Log in"),
    why ? sentence(why) : h("p", null, "This hub wants to know who you are."),
    h("p", { class: "row" }, button("Log in", logIn, { class: "main" })),
    h(
      "p",
      { class: "quiet" },
      "If you run this hub, ",
      h("code", null, "toolyard status"),
      " prints a link that opens the page, too.",
    ),
  );
}

function letIn() {
  const why = state.entrance?.message;
  if (state.canLogIn) return askName();
  return h(
    "div",
    { class: "empty" },
    h("h1", null, "This browser is not let in"),
    why ? sentence(why) : null,
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

// A page whose code did not come. A browser may remember that, so the page begins anew; but not
// before the hub answers, or it would be gone.
function unloaded() {
  return empty(
    "The code of this page could not be loaded.",
    h("p", null, "The hub may be restarting, or it was updated since you opened this page."),
    h("p", { class: "row" }, button("Load it again", reloadIfAnswered)),
  );
}

async function reloadIfAnswered() {
  try {
    await fetch(location.pathname, { cache: "no-store" });
    reload();
  } catch {
    say("The hub still does not answer.", "bad");
  }
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

// Somebody waits for an answer, wherever one is on the page.
function callSign() {
  const { waiting } = state;
  if (!waiting || current.page?.path === waitingPath()) return null;
  const words = waiting === 1 ? "A call is waiting" : `${count(waiting, "call")} are waiting`;
  return h(
    "div",
    { key: "sign", class: "sign waits", role: "status" },
    h("span", null, `${words} for an answer.`),
    h("a", { class: "button", href: waitingPath() }, "Answer"),
  );
}

// Whatever a page shows, or fails to show, stands under a heading.
function content(kids) {
  if (hasHeading(kids)) return [callSign(), tabs(), kids];
  const isLost = (state.live === "lost" || state.trouble) && !state.status;
  const heading = h("div", { key: "heading", class: "top" }, h("h1", null, visible(current.title)));
  return [callSign(), tabs(), heading, isLost ? unanswered(retry) : kids];
}

const LIVE = { live: "Live", connecting: "Connecting …", lost: "Connection lost, trying again …" };

function entry(section, here) {
  const isHere = section === here;
  const mark = current?.page === section.pages[0] ? "page" : "true";
  const problems = section.name === "Servers" ? state.status?.problems.length : 0;
  const waiting = section.pages.some(({ path }) => path === waitingPath()) ? state.waiting : 0;
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
    waiting
      ? h("span", { class: "count waiting", title: `${count(waiting, "call")} waiting` }, waiting)
      : null,
  );
}

// Whose page it is, and the way out of it.
function who() {
  const { me } = state;
  if (!me || !state.isLetIn) return null;
  const name = visible(me.email || me.name || me.subject);
  return h(
    "div",
    { class: "who" },
    h("span", { title: name }, name),
    button("Log out", logOut, { class: "small" }),
  );
}

function hub() {
  const { live, status, since } = state;
  return h(
    "div",
    { class: "hub" },
    who(),
    live
      ? h(
          "span",
          { class: `live ${live}`, role: "status" },
          h("i", { "aria-hidden": "true" }),
          h("span", null, LIVE[live]),
        )
      : h("span", null),
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
  const here = sectionOf(current?.page, state.me);
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
      state.isLetIn ? sectionsFor(state.me).map((section) => entry(section, here)) : null,
    ),
    hub(),
  ];
}

// The pages that stand beside the one that is shown.
function tabs() {
  const section = sectionOf(current?.page, state.me);
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

let shownTab = null;

// A narrow window has no room for all tabs. Whoever moves them by hand is not disturbed until the
// next page.
function showTab() {
  const strip = main.querySelector(".tabs");
  const tab = strip?.querySelector("[aria-current]");
  const address = tab?.getAttribute("href");
  if (strip && tab && address !== shownTab) {
    const [around, inside] = [strip, tab].map((node) => node.getBoundingClientRect());
    strip.scrollLeft += inside.left - around.left - (around.width - inside.width) / 2;
  }
  shownTab = address;
}

let wasLost = false;

// What could not be asked while the hub was away is asked again once it is back.
function isBack() {
  const isOver = wasLost && state.live === "live" && state.status && !state.trouble;
  wasLost = state.live === "lost" || (wasLost && !isOver);
  return isOver;
}

function resume() {
  if (current.draw === unloaded) reload();
  else if (main.querySelector(".skeleton")) arrive();
}

function drawPage() {
  render(head, header());
  try {
    keepFocus(main, drawMain);
  } catch (error) {
    reportError(error);
    render(main, content(broken(error)));
  }
  reach();
  showTab();
  if (current && isBack()) resume();
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

// The address stays as it is: another one would open the page anew.
document.querySelector("body > .skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
  main.scrollIntoView();
});

addEventListener("popstate", travel);
addEventListener("beforeunload", (event) => {
  if (isUnsaved()) event.preventDefault();
});
watch(drawPage);
await enter();
if (isNamed()) await refresh();
arrive();
begin();
