// Tools: everything a client of the yard can call, found by a few words.

import { h } from "../lib/dom.js";
import { heads, looking, quiet, top } from "../lib/bits.js";
import { ask, onPicture, segment } from "../lib/store.js";
import { button, complain, empty, link } from "../lib/parts.js";
import { count, short, visible } from "../lib/words.js";
import { field, textInput } from "../lib/editing.js";
import { serverPath, toolPath } from "../lib/paths.js";

const MOST = 200;
const PAUSE = 200;

function row({ name, server, tool, description }) {
  return h(
    "tr",
    { key: name },
    h(
      "th",
      { scope: "row" },
      link(toolPath(server, tool), short(tool, 80)),
      h("span", { class: "quiet under" }, short(description, 160)),
    ),
    h("td", { "data-label": "Server" }, link(serverPath(server), visible(server))),
    h("td", { "data-label": "Clients see", class: "whole" }, h("code", null, short(name, 80))),
  );
}

export function open(place) {
  let query = new URLSearchParams(location.search).get("search") || "";
  let found = null;
  let waiting = 0;
  let turn = 0; // how many searches were begun: only the answer to the last one counts

  async function load() {
    turn += 1;
    const mine = turn;
    try {
      const answer = await ask(`/tools?query=${segment(query)}&limit=${MOST}`);
      if (mine === turn) found = answer;
    } catch (error) {
      complain(error);
    }
    place.redraw();
  }

  function search(words) {
    query = words;
    const address = words ? `?search=${segment(words)}` : "";
    history.replaceState(null, "", location.pathname + address);
    place.redraw();
    clearTimeout(waiting);
    waiting = setTimeout(load, PAUSE);
  }

  function list() {
    const tools = found.tools.filter((tool) => tool.server);
    if (!tools.length && query)
      return empty(
        "No tool fits.",
        h(
          "p",
          null,
          button("Show all", () => search("")),
        ),
      );
    if (!tools.length)
      return empty("No tools yet.", h("p", null, "They are listed here once a server is ready."));
    return [
      h(
        "table",
        { class: "stack" },
        heads(["Tool", "Server", "Clients see"]),
        h("tbody", null, tools.map(row)),
      ),
      found.total > found.tools.length
        ? quiet(`The first ${found.tools.length} of ${found.total}; search to see others.`)
        : null,
    ];
  }

  onPicture(place, load);
  place.onLeave(() => clearTimeout(waiting));
  load();
  return () => [
    top("Tools", found ? `${count(found.total, "tool")}. Open one to try it.` : ""),
    h(
      "div",
      { key: "search", class: "filters", role: "search" },
      field("Search", textInput("search-tools", query, search, { type: "search" })),
    ),
    h("div", { key: "tools" }, found ? list() : looking()),
  ];
}
