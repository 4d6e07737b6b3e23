// The ways to add a server, each a page, reached from each other.

import { h } from "./dom.js";
import { crumbs } from "./bits.js";

const WAYS = [
  ["/ui/add", "Form"],
  ["/ui/add/json", "Paste"],
  ["/ui/catalog", "Catalog"],
  ["/ui/setup", "Import from clients"],
];

/** @param {string} here the path of the one that is shown */
export function ways(here) {
  return [
    crumbs("/ui", "Servers"),
    h("div", { class: "top" }, h("h1", null, "Add a server")),
    h(
      "nav",
      { key: "ways", class: "tabs", "aria-label": "Ways to add a server" },
      WAYS.map(([path, words]) =>
        h("a", { href: path, "aria-current": path === here ? "page" : undefined }, words),
      ),
    ),
  ];
}
