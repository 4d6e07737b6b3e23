// Bars beside each other, each made of parts: what takes how much of a whole.

import { h } from "./dom.js";

/**
 * @typedef {object} Bar
 * @property {string} key
 * @property {any} name
 * @property {string} words its sum, with a unit
 * @property {{name: string, value: number, colour: string, words: string}[]} parts
 */

/** @param {Bar} bar @param {number} most the longest of all */
function drawn(bar, most) {
  let from = 0;
  const rects = bar.parts.map((part) => {
    const width = (part.value / most) * 100;
    const x = from;
    from += width;
    return h(
      "rect",
      {
        key: part.name,
        class: part.colour.replace(/^--/, ""),
        x: `${x.toFixed(2)}%`,
        width: `${width.toFixed(2)}%`,
        height: "100%",
      },
      h("title", null, `${part.name}: ${part.words}`),
    );
  });
  const label = bar.parts.map((part) => `${part.name} ${part.words}`).join(", ");
  return h("svg", { class: "shares", role: "img", "aria-label": label }, rects);
}

/** @param {Bar[]} bars */
export function barList(bars) {
  const sum = ({ parts }) => parts.reduce((all, part) => all + part.value, 0);
  const most = Math.max(1, ...bars.map(sum));
  return h(
    "ul",
    { class: "bars" },
    bars.map((bar) =>
      h(
        "li",
        { key: bar.key },
        h("div", null, h("span", null, bar.name), h("span", { class: "number" }, bar.words)),
        drawn(bar, most),
      ),
    ),
  );
}
