// Calls along time: three charts, and the table that says which colour is whose.

import { h } from "./dom.js";
import { quiet } from "./bits.js";
import { segment } from "./store.js";
import { button, link } from "./parts.js";
import { ms, visible, whole } from "./words.js";
import { makeChart, swatch } from "./chart.js";
import { OTHERS, colourAt } from "./colours.js";

// An axis has steps of less than a millisecond, too.
const duration = (value) => {
  if (!value) return "0";
  return value < 10 ? `${Number(value.toFixed(1))} ms` : ms(value);
};

// All lines of a timeline, each with its colour.
function linesOf({ series, others }) {
  const lines = series.map((line, at) => ({
    ...line,
    id: `line ${at}`,
    words: visible(line.name) || "unnamed",
    colour: colourAt(at),
  }));
  if (!others) return lines;
  return [...lines, { ...others, id: "others", words: "all others", colour: OTHERS }];
}

// Stands where the charts will be, in their size.
export function blankCharts() {
  const blank = () => h("div", { class: "card chart blank" }, h("div", { class: "plot" }));
  return h(
    "div",
    { class: "charts", role: "status", "aria-label": "Loading" },
    blank(),
    blank(),
    blank(),
  );
}

/**
 * The charts of a timeline; `draw` gives them, `end` lets go of them.
 * @param {() => void} redraw
 */
export function overTime(redraw) {
  const options = (title, kind, words) => ({ title, kind, words, redraw });
  const charts = {
    calls: makeChart(options("Calls", "bars", whole)),
    errors: makeChart(options("Errors", "bars", whole)),
    p95_ms: makeChart(options("Latency, p95", "lines", duration)),
  };
  const hidden = new Set();
  let timeline = null;
  let drawn = {}; // the data of each chart, the same until something changes

  function dataOf(field) {
    const { begin, seconds, buckets } = timeline;
    const from = new Date(begin).getTime() / 1000;
    const shown = linesOf(timeline).filter((line) => !hidden.has(line.id));
    return {
      times: Array.from({ length: buckets }, (_, at) => from + (at + 0.5) * seconds),
      seconds,
      series: shown.map((line) => ({
        name: line.words,
        colour: line.colour,
        values: line[field],
      })),
    };
  }

  function toggle(id) {
    if (!hidden.delete(id)) hidden.add(id);
    drawn = {};
    redraw();
  }

  function row(line, asked) {
    const isServer = asked.by === "server";
    const deeper = `/ui/activity?since=${asked.since}&${asked.by}=${segment(line.name)}`;
    const more = `${deeper}&by=${isServer ? "agent" : "server"}`;
    return h(
      "tr",
      { key: line.id },
      h(
        "th",
        { scope: "row" },
        button([swatch(line.colour), line.words], () => toggle(line.id), {
          "aria-pressed": String(!hidden.has(line.id)),
          title: "Show or hide on the charts",
        }),
      ),
      h("td", { "data-label": "Calls", class: "number" }, whole(line.all_calls)),
      h(
        "td",
        { "data-label": "Errors", class: line.all_errors ? "number bad" : "number" },
        whole(line.all_errors),
      ),
      h("td", { "data-label": "p50", class: "number" }, ms(line.all_p50_ms)),
      h("td", { "data-label": "p95", class: "number" }, ms(line.all_p95_ms)),
      h(
        "td",
        { class: "number" },
        line.name && !asked[asked.by] ? link(more, isServer ? "by client" : "by server") : null,
      ),
    );
  }

  function legend(asked) {
    const head = (word) => h("th", { scope: "col", class: "number" }, word);
    return h(
      "table",
      { class: "legend stack" },
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          h("th", { scope: "col" }, asked.by === "server" ? "Server" : "Client"),
          ["Calls", "Errors", "p50", "p95"].map(head),
          head(h("span", { class: "skip" }, "More")),
        ),
      ),
      h(
        "tbody",
        null,
        linesOf(timeline).map((line) => row(line, asked)),
      ),
    );
  }

  return {
    // Other lines than before: none of them is hidden.
    showAll: () => hidden.clear(),
    draw(fresh, asked) {
      if (fresh !== timeline) drawn = {};
      timeline = fresh;
      for (const field of Object.keys(charts)) drawn[field] ??= dataOf(field);
      const figures = Object.entries(charts).map(([field, chart]) => chart.draw(drawn[field]));
      const isSilent = !timeline.series.length;
      return [
        h("div", { key: "charts", class: "charts" }, figures),
        isSilent ? quiet("Nothing was called in this time.") : legend(asked),
      ];
    },
    end() {
      for (const chart of Object.values(charts)) chart.end();
    },
  };
}
