// The smallest pieces: words in a tone, a sheet with a title, the head of a table.

import { h } from "./dom.js";
import { visible } from "./words.js";

export const quiet = (...kids) => h("p", { class: "quiet" }, ...kids);
export const small = (...kids) => h("span", { class: "quiet" }, ...kids);
export const under = (...kids) => h("span", { class: "quiet under" }, ...kids);
export const tag = (...kids) => h("span", { class: "tag" }, ...kids);
// The head of a page: its title, a sentence below it, and beside them what can be done.
export const top = (title, lead, ...actions) =>
  h(
    "div",
    { class: "top" },
    h("div", null, h("h1", null, title), lead ? quiet(lead) : null),
    ...actions,
  );
// The way to a page: pairs of an address and its words.
export const crumbs = (...way) =>
  h(
    "p",
    { class: "crumbs" },
    way.map((href, at) => (at % 2 ? null : [at ? " / " : null, h("a", { href }, way[at + 1])])),
  );
// A link out of the page, which tells nobody where it came from.
export const away = (href, words) =>
  h("a", { href, target: "_blank", rel: "noopener noreferrer" }, words);
export const submit = (words, disabled = false) =>
  h("button", { type: "submit", class: "main", disabled }, words);
// Stands where something will be, in about its size, so that nothing jumps when it comes. If it does
// not come, that is said after a while.
export const looking = () =>
  h(
    "div",
    { class: "skeleton", role: "status", "aria-label": "Loading" },
    h("i", null),
    h("i", null),
    h("i", null),
    h("i", null),
    h(
      "p",
      { class: "late" },
      "This takes longer than usual. ",
      h("button", { type: "button", on: { click: () => location.reload() } }, "Load it again"),
    ),
  );

export function sheet(title, ...kids) {
  return h("section", { class: "card", "aria-label": title }, h("h2", null, title), ...kids);
}

// The words above the columns of a table; those of `numbers` stand to the right.
export function heads(words, ...numbers) {
  const cell = (word) => {
    const kind = numbers.includes(word) ? "number" : undefined;
    return h("th", { scope: "col", class: kind }, word || h("span", { class: "skip" }, "Actions"));
  };
  return h("thead", null, h("tr", null, words.map(cell)));
}

// Pairs of a name and what is to be said; what has nothing to say is left out.
export function facts(rows) {
  const told = rows.filter(([, words]) => words && words.length !== 0);
  return h(
    "dl",
    { class: "facts" },
    told.map(([name, words]) => [h("dt", null, name), h("dd", null, words)]),
  );
}

// What was asked for is not there; where to go instead.
export function gone(error, href, words) {
  return h(
    "div",
    { class: "empty" },
    h("p", { class: "title" }, visible(error.message)),
    h("p", null, visible(error.hint)),
    h("p", null, h("a", { href }, words)),
  );
}
