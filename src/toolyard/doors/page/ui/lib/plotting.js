// What the charts need of uPlot: it is fetched with the first chart, and set up here.

const LIBRARY = "/ui/assets/vendor/uplot/uPlot.esm.js";
const SHEET = "/ui/assets/vendor/uplot/uPlot.min.css";
const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 50000, 100000];
const DAY = 86400;
export const HEIGHT = 200;

/** @type {Promise<any> | null} */
let fetching = null;

/** @returns {Promise<any>} the library, with its style sheet in place */
export function fetchLibrary() {
  fetching ??= Promise.all([import(LIBRARY), fetchSheet()]).then(
    ([library]) => library.default,
    (error) => {
      fetching = null;
      throw error;
    },
  );
  return fetching;
}

function fetchSheet() {
  return new Promise((resolve, reject) => {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = SHEET;
    link.addEventListener("load", resolve);
    link.addEventListener("error", reject);
    document.head.append(link);
  });
}

const two = (number) => String(number).padStart(2, "0");
const clock = (when, step) => {
  const time = new Date(when * 1000);
  const seconds = step < 60 ? `:${two(time.getSeconds())}` : "";
  return `${two(time.getHours())}:${two(time.getMinutes())}${seconds}`;
};
const date = (when) =>
  new Date(when * 1000).toLocaleDateString("en", { month: "short", day: "numeric" });

// A moment as an axis names it, among others that are `step` seconds apart.
function tick(when, step) {
  if (step >= DAY) return date(when);
  const time = clock(when, step);
  return time === "00:00" ? date(when) : time;
}

/** @param {import("./chart.js").Data} data @param {number} at */
export function bucketWords({ times, seconds }, at) {
  const from = times[at] - seconds / 2;
  if (seconds >= DAY) return date(from);
  const isLong = times[times.length - 1] - times[0] > DAY;
  return `${isLong ? `${date(from)}, ` : ""}${clock(from, seconds)}`;
}

// A canvas knows no variables and no light-dark(): what they stand for now.
function ink(node, variable) {
  const probe = document.createElement("i");
  probe.style.color = `var(${variable})`;
  node.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/**
 * Bars that stand on each other: each is drawn as high as all up to it, and the lowest in front.
 * @param {import("./chart.js").Data} data
 */
function stacked({ times, series }) {
  const tops = [];
  let below = times.map(() => 0);
  for (const { values } of series) {
    below = below.map((height, at) => height + (values[at] || 0));
    tops.unshift(below);
  }
  return [times, ...tops];
}

/** @param {import("./chart.js").Data} data @param {"bars" | "lines"} kind */
export function columns(data, kind) {
  if (kind === "bars") return stacked(data);
  return [data.times, ...data.series.map((one) => one.values)];
}

/**
 * @param {any} library
 * @param {HTMLElement} place
 * @param {import("./chart.js").Options} options
 * @param {import("./chart.js").Data} data
 * @param {() => void} pointAt is called when the pointer moves
 */
export function plotOptions(library, place, { kind, words }, data, pointAt) {
  const colour = (variable) => () => ink(place, variable);
  const { times, seconds, series } = data;
  const axis = {
    stroke: colour("--muted"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
    font: `12px ${getComputedStyle(place).fontFamily}`,
  };
  const line = (one) => ({
    stroke: colour(one.colour),
    width: 2,
    points: { show: true, size: 5, width: 0, fill: colour(one.colour) },
  });
  const bar = (one) => ({
    fill: colour(one.colour),
    width: 0,
    paths: library.paths.bars({ size: [0.8, 40] }),
    points: { show: false },
  });
  const isBars = kind === "bars";
  return {
    width: place.clientWidth || 300,
    height: HEIGHT,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: false, y: false },
      points: { show: !isBars },
      sync: { key: "time" },
    },
    scales: {
      x: { range: () => [times[0] - seconds / 2, times[times.length - 1] + seconds / 2] },
      y: { range: (_plot, _least, most) => [0, most > 0 ? most * 1.08 : 1] },
    },
    axes: [
      {
        ...axis,
        size: 28,
        grid: { show: false },
        values: (_plot, splits, _axis, _space, step) => splits.map((split) => tick(split, step)),
      },
      {
        ...axis,
        size: isBars ? 44 : 60,
        ...(isBars ? { incrs: WHOLE } : {}),
        values: (_plot, splits) => splits.map((split) => words(split)),
      },
    ],
    series: [{}, ...(isBars ? [...series].reverse().map(bar) : series.map(line))],
    hooks: { setCursor: [pointAt] },
  };
}
