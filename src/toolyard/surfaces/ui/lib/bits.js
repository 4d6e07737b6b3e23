// The smallest pieces: words in a tone, a sheet with a title, the head of a table.

import { h } from "./dom.js";
import { visible } from "./words.js";

export const quiet = (...kids) => h("p", { class: "quiet" }, ...kids);
export const small = (...kids) => h("span", { class: "quiet" }, ...kids);
export const under = (...kids) => h("span", { class: "quiet under" }, ...kids);
export const tag = (...kids) => h("span", { class: "tag" }, ...kids);
export const looking = () => quiet("Looking …");

export function sheet(title, ...kids) {
  return h("section", { class: "card", "aria-label": title }, h("h2", null, title), ...kids);
}

// The words above the columns of a table; those of `numbers` stand to the right.
export function heads(words, ...numbers) {
  return h("thead", null, h("tr", null, words.map((each) => h("th", { scope: "col", class: numbers.includes(each) ? "number" : undefined }, each || h("span", { class: "skip" }, "Actions")))));
}

// What was asked for is not there; where to go instead.
export function gone(error, href, words) {
  return h("div", { class: "empty" }, h("p", { class: "title" }, visible(error.message)), h("p", null, visible(error.hint)), h("p", null, h("a", { href }, words)));
}
