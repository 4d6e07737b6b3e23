// Calls along time: one lane for each server, each call as long as it took.

import { h } from "./dom.js";
import { exact, ms, visible } from "./words.js";

const LANE = 26; // high
const LEFT = 130; // where the lanes begin, right of their names
const WIDTH = 1000;
const LANES = 12;

export function timeline(calls, open) {
  const spans = calls.map((call) => {
    const from = new Date(call.at).getTime();
    return { call, from, to: from + call.ms, isWrong: /error|failed/.test(call.outcome) };
  });
  // What failed is drawn last, so that nothing hides it.
  spans.sort((a, b) => Number(a.isWrong) - Number(b.isWrong));
  const first = Math.min(...spans.map((span) => span.from));
  const whole = Math.max(1, Math.max(...spans.map((span) => span.to)) - first);
  const servers = [...new Set(calls.map((call) => call.server))].slice(0, LANES);
  const x = (when) => LEFT + ((when - first) / whole) * (WIDTH - LEFT - 20);
  const height = servers.length * LANE + 26;
  return h(
    "svg",
    {
      class: "timeline",
      viewBox: `0 0 ${WIDTH} ${height}`,
      role: "img",
      "aria-label": `${calls.length} calls along time; the list below says the same`,
    },
    servers.map((server, at) => [
      h("text", { x: 10, y: at * LANE + 22 }, visible(server).slice(0, 17)),
      h("line", {
        class: "lane",
        x1: LEFT,
        x2: WIDTH - 10,
        y1: at * LANE + 18,
        y2: at * LANE + 18,
      }),
    ]),
    spans
      .filter((span) => servers.includes(span.call.server))
      .map(({ call, from, to, isWrong }) =>
        h(
          "rect",
          {
            class: isWrong ? "mark wrong" : "mark",
            key: call.id,
            x: x(from).toFixed(1),
            y: servers.indexOf(call.server) * LANE + 10,
            width: Math.max(4, x(to) - x(from)).toFixed(1),
            height: 16,
            rx: 2,
            on: { click: () => open(call) },
          },
          h("title", null, `${visible(call.tool)}, ${ms(call.ms)}, ${call.outcome}`),
        ),
      ),
    h("text", { x: LEFT, y: height - 8 }, exact(first)),
    h("text", { x: WIDTH - 10, y: height - 8, "text-anchor": "end" }, exact(first + whole)),
  );
}
