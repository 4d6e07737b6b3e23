// The difference of a file, line by line.

import { h } from "./dom.js";
import { visible } from "./words.js";

export function patch(difference) {
  const kinds = { "+": "after", "-": "before", "@": "quiet" };
  const lines = difference.split("\n");
  return h(
    "pre",
    { class: "patch", tabindex: "0", "aria-label": "The difference" },
    lines.map((line) => {
      const isFileName = /^(---|\+\+\+) /.test(line);
      return h("span", { class: isFileName ? "quiet" : kinds[line[0]] }, `${visible(line)}\n`);
    }),
  );
}
