// Find any server, tool, page or action by a few letters, without leaving the keyboard.

import { h, render } from "./dom.js";
import { ask, segment, state } from "./store.js";
import { run, serverPath, toolPath } from "./parts.js";
import { short, visible } from "./words.js";
import { pages } from "../pages/index.js";

const MOST = 30;
let tools = [];

function places() {
  const found = pages.filter((page) => page.nav).map((page) => ({ kind: "page", name: page.nav, path: page.path }));
  for (const server of state.status?.servers || []) {
    const at = `/servers/${segment(server.alias)}`;
    found.push({ kind: "server", name: server.alias, more: server.title, path: serverPath(server.alias) });
    found.push({ kind: "action", name: `restart ${server.alias}`, run: () => run(`${server.alias} was restarted.`, "POST", `${at}/restart`) });
    found.push(server.enabled
      ? { kind: "action", name: `disable ${server.alias}`, run: () => run(`${server.alias} is disabled.`, "POST", `${at}/disable`) }
      : { kind: "action", name: `enable ${server.alias}`, run: () => run(`${server.alias} is enabled.`, "POST", `${at}/enable`) });
  }
  for (const tool of tools) {
    if (tool.server) found.push({ kind: "tool", name: tool.tool, more: `${tool.server} · ${tool.description || ""}`, path: toolPath(tool.server, tool.tool) });
  }
  return found;
}

// Better: the whole name, then its beginning, then within it, then in what is said of it.
function rank(place, words) {
  const name = place.name.toLowerCase();
  const more = (place.more || "").toLowerCase();
  let sum = place.kind === "action" ? 3 : 0;
  for (const word of words) {
    if (name === word) continue;
    if (name.startsWith(word)) sum += 1;
    else if (name.includes(word)) sum += 2;
    else if (more.includes(word)) sum += 6;
    else return -1;
  }
  return sum;
}

function matching(query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return places()
    .map((place) => ({ place, rank: rank(place, words) }))
    .filter((each) => each.rank >= 0)
    .sort((a, b) => a.rank - b.rank)
    .slice(0, MOST)
    .map((each) => each.place);
}

export function openFinder(go) {
  const above = document.getElementById("above");
  if (above.querySelector(".finder")) return;
  const before = document.activeElement;
  let query = "";
  let at = 0;
  let found = matching(query);

  function close() {
    render(above);
    before?.focus?.();
  }
  function choose(place) {
    close();
    if (place.run) place.run();
    else go(place.path);
  }
  function press(event) {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      at = (at + (event.key === "ArrowDown" ? 1 : found.length - 1)) % Math.max(1, found.length);
      event.preventDefault();
      draw();
      above.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter" && found[at]) {
      event.preventDefault();
      choose(found[at]);
    }
  }
  function draw() {
    render(above, h("dialog", { class: "finder", "aria-label": "Find", made: (node) => node.showModal(), on: { close, cancel: close, click: (event) => { if (event.target.tagName === "DIALOG") close(); } } },
      h("input", {
        type: "text", placeholder: "A server, a tool, a page, an action …", autofocus: true, autocomplete: "off", spellcheck: "false",
        role: "combobox", "aria-label": "Find", "aria-expanded": "true", "aria-controls": "found", "aria-autocomplete": "list",
        "aria-activedescendant": found[at] ? `found-${at}` : undefined,
        on: { keydown: press, input: (event) => { query = event.target.value; at = 0; found = matching(query); draw(); } },
      }),
      h("ul", { id: "found", role: "listbox", "aria-label": "What was found" }, found.map((place, number) => h("li", {
        id: `found-${number}`, role: "option", "aria-selected": String(number === at), on: { click: () => choose(place) },
      }, h("span", { class: "kind" }, place.kind), h("span", { class: "name" }, short(place.name, 80)), h("span", { class: "quiet" }, short(place.more || "", 90))))),
      found.length ? null : h("p", { class: "quiet" }, `Nothing is called “${visible(query)}”.`)));
  }
  draw();
  ask("/tools").then((answer) => {
    tools = answer.tools;
    found = matching(query);
    if (above.querySelector(".finder")) draw();
  }).catch(() => {});
}
