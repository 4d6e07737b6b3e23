// Spans of time below each other, each where it began and as long as it took.

import { h } from "./dom.js";
import { ms } from "./words.js";

/**
 * @typedef {object} Span
 * @property {string} key
 * @property {any} label
 * @property {number} from in milliseconds, on any clock that all share
 * @property {number} to
 * @property {string} kind `hub`, `server`, `person`, `other` or `failed`
 * @property {boolean} [isThis] the one that all this is about
 */

const LEAST = 0.6; // percent of the whole that can still be seen

/** @param {Span} span @param {number} first @param {number} whole */
function bar(span, first, whole) {
  const x = ((span.from - first) / whole) * 100;
  const width = Math.max(LEAST, ((span.to - span.from) / whole) * 100);
  const begun = span.from === first ? "" : `, begun after ${ms(span.from - first)}`;
  return h(
    "svg",
    { class: "span", role: "img", "aria-label": `${ms(span.to - span.from)}${begun}` },
    h("rect", {
      class: span.kind,
      x: `${Math.min(x, 100 - LEAST).toFixed(2)}%`,
      width: `${width.toFixed(2)}%`,
      height: "100%",
      rx: 2,
    }),
  );
}

/** @param {Span[]} spans */
export function waterfall(spans) {
  const first = Math.min(...spans.map((span) => span.from));
  const whole = Math.max(1, Math.max(...spans.map((span) => span.to)) - first);
  return h(
    "ol",
    { class: "waterfall" },
    spans.map((span) =>
      h(
        "li",
        { key: span.key, "aria-current": span.isThis ? "true" : undefined },
        h("span", { class: "what" }, span.label),
        bar(span, first, whole),
        h("span", { class: "number" }, ms(span.to - span.from)),
      ),
    ),
  );
}
