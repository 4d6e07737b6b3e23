// What a server writes, as it writes it.

import { h } from "./dom.js";
import { quiet, small } from "./bits.js";
import { api, inParts, segment, state } from "./store.js";
import { count, visible } from "./words.js";

const KEPT = 2000;

export function follow(alias, place) {
  const abort = new AbortController();
  let lines = [];
  let query = "";
  let ended = false;

  async function read() {
    const answer = await api(
      "GET",
      `/servers/${segment(alias)}/log?follow=true`,
      undefined,
      abort.signal,
    );
    lines = [];
    await inParts(answer, "\n", (parts) => {
      lines = [...lines, ...parts].slice(-KEPT);
      place.redraw();
    });
  }
  async function keep() {
    let patience = 1000;
    while (!ended) {
      const begun = Date.now();
      await read().catch(() => {});
      if (ended || !state.isLetIn) return;
      patience = Date.now() - begun > 5000 ? 1000 : Math.min(patience * 2, 15000);
      await new Promise((resolve) => setTimeout(resolve, patience));
    }
  }
  function search(event) {
    query = event.target.value.toLowerCase();
    place.redraw();
  }
  function scrollToEnd(node) {
    node.scrollTop = node.scrollHeight;
  }
  keep();

  return {
    end() {
      ended = true;
      abort.abort();
    },
    draw() {
      const matches = query ? lines.filter((line) => line.toLowerCase().includes(query)) : lines;
      if (!lines.length) return quiet("It has not written anything to its log.");
      const total = count(lines.length, "line");
      return [
        h(
          "div",
          { class: "row" },
          h("input", {
            type: "search",
            placeholder: "Search the log",
            "aria-label": "Search the log",
            on: { input: search },
          }),
          small(query ? `${matches.length} of ${total}` : total),
        ),
        h(
          "pre",
          { class: "log", tabindex: "0", "aria-label": "Log", made: scrollToEnd },
          visible(matches.join("\n")),
        ),
      ];
    },
  };
}
