// A chart along time, with the values below the pointer, and the same as a table.

import { h, render } from "./dom.js";
import { HEIGHT, bucketWords, columns, fetchLibrary, plotOptions } from "./plotting.js";

/**
 * @typedef {object} Series
 * @property {string} name as people read it
 * @property {string} colour the name of a CSS variable
 * @property {Array<number | null>} values
 *
 * @typedef {object} Data
 * @property {number[]} times the middle of each bucket, in seconds since 1970
 * @property {number} seconds the width of a bucket
 * @property {Series[]} series
 *
 * @typedef {object} Options
 * @property {string} title
 * @property {"bars" | "lines"} kind bars stand on each other
 * @property {(value: number) => string} words a value with its unit
 * @property {() => void} redraw
 */

export const swatch = (colour) =>
  h("i", { class: `swatch ${colour.replace(/^--/, "")}`, "aria-hidden": "true" });

// The drawing itself: what uPlot puts into the page, and when it is put there anew.
class Drawing {
  /** @param {Options} options */
  constructor(options) {
    this.options = options;
    /** @type {Data} */
    this.data = { times: [], seconds: 1, series: [] };
    this.isEnded = false;
    /** @type {any} */
    this.plot = null;
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.recolour = () => this.plot?.redraw();
    this.theme = new MutationObserver(this.recolour);
    this.resizing = new ResizeObserver(() => this.fit());
    // The same node for ever: nothing of ours may be laid over what uPlot puts into it.
    this.slot = h("div", {
      class: "plot",
      tabindex: "0",
      role: "img",
      "aria-label": `${options.title} along time; a table with the same follows`,
      made: (node) => this.attach(node),
      on: { keydown: (event) => this.press(event), blur: () => this.hide() },
    });
  }

  /** @param {HTMLElement} place */
  async attach(place) {
    this.place = place;
    try {
      this.library = await fetchLibrary();
    } catch {
      render(place, h("p", { class: "quiet" }, "The chart cannot be loaded; the table can."));
      return;
    }
    if (this.isEnded) return;
    this.resizing.observe(place);
    this.dark.addEventListener("change", this.recolour);
    this.theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    this.build();
  }

  build() {
    const { library, place, options, data } = this;
    if (!library || !place || !data.times.length) return;
    this.plot?.destroy();
    const settings = plotOptions(library, place, options, data, () => this.point());
    this.plot = new library(settings, columns(data, options.kind), place);
    this.bubble = document.createElement("div");
    this.bubble.className = "bubble";
    this.bubble.hidden = true;
    this.plot.over.append(this.bubble);
  }

  /** @param {Data} data */
  show(data) {
    const sign = ({ series, times, seconds }) =>
      JSON.stringify([series.map((one) => [one.name, one.colour]), times[0], seconds]);
    const isAlike = sign(data) === sign(this.data);
    this.data = data;
    if (this.plot && isAlike) this.plot.setData(columns(data, this.options.kind));
    else this.build();
  }

  fit() {
    const width = this.place?.clientWidth;
    if (this.plot && width) this.plot.setSize({ width, height: HEIGHT });
  }

  // The values below the pointer; charts beside move their line along, and say nothing.
  point() {
    const { plot, bubble, data, options } = this;
    if (!plot || !bubble) return;
    const at = plot.cursor.idx;
    const isHere = plot.over.matches(":hover") || document.activeElement === this.place;
    const rows = data.series.filter((one) => typeof at === "number" && one.values[at]);
    bubble.hidden = !isHere || !rows.length;
    if (bubble.hidden) return;
    render(
      bubble,
      h("p", { class: "quiet" }, bucketWords(data, at)),
      rows.map((one) =>
        h(
          "p",
          { key: one.name },
          swatch(one.colour),
          h("span", null, one.name),
          h("b", null, options.words(one.values[at] || 0)),
        ),
      ),
    );
    bubble.classList.toggle("left", plot.cursor.left > plot.over.clientWidth / 2);
    bubble.style.left = `${plot.cursor.left}px`;
  }

  hide() {
    if (this.bubble) this.bubble.hidden = true;
  }

  // The arrow keys go along the chart, as the pointer does.
  press(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!this.plot || !step) return;
    event.preventDefault();
    const { times } = this.data;
    const at = this.plot.cursor.idx;
    const next = typeof at === "number" ? at + step : times.length - 1;
    const time = times[Math.min(times.length - 1, Math.max(0, next))];
    this.plot.setCursor({ left: this.plot.valToPos(time, "x"), top: 10 });
  }

  end() {
    this.isEnded = true;
    this.resizing.disconnect();
    this.theme.disconnect();
    this.dark.removeEventListener("change", this.recolour);
    this.plot?.destroy();
  }
}

/** @param {Options} options @param {Data} data */
function table({ title, words }, data) {
  const cell = (value) =>
    h("td", { class: "number" }, typeof value === "number" ? words(value) : "–");
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": `${title} as a table` },
    h(
      "table",
      null,
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          h("th", { scope: "col" }, "Time"),
          data.series.map((one) => h("th", { scope: "col", class: "number" }, one.name)),
        ),
      ),
      h(
        "tbody",
        null,
        data.times.map((time, at) =>
          h(
            "tr",
            { key: time },
            h("th", { scope: "row" }, bucketWords(data, at)),
            data.series.map((one) => cell(one.values[at])),
          ),
        ),
      ),
    ),
  );
}

/**
 * A chart; `draw(data)` gives its node, the same one for the same data, and `end` lets go of it.
 * @param {Options} options
 */
export function makeChart(options) {
  const drawing = new Drawing(options);
  let isTable = false;
  /** @type {import("./dom.js").VNode | null} */
  let drawn = null;

  function unfold(event) {
    isTable = event.target.open;
    drawn = null;
    options.redraw();
  }

  return {
    /** @param {Data} data */
    draw(data) {
      if (data !== drawing.data) {
        drawn = null;
        drawing.show(data);
      }
      drawn ??= h(
        "figure",
        { class: "card chart", key: options.title },
        h("h2", null, options.title),
        drawing.slot,
        h(
          "details",
          { on: { toggle: unfold } },
          h("summary", null, "Show as table"),
          isTable ? table(options, data) : null,
        ),
      );
      return drawn;
    },
    end: () => drawing.end(),
  };
}
