// The yard as a drawing: sources, the hub, agents, and lines that move while calls cross them.

import { h } from "./dom.js";
import { isBusy, state } from "./store.js";
import { count, short } from "./words.js";

const WIDTH = 900;
const STEP = 46;
const MOST = 8;

export function picture() {
  const sources = new Map();
  for (const server of state.status.servers) {
    const group = sources.get(server.source) || [];
    group.push(server);
    sources.set(server.source, group);
  }
  const left = [...sources].slice(0, MOST);
  const right = [...state.agents].sort((a, b) => b[1] - a[1]).slice(0, MOST);
  const rows = Math.max(left.length, right.length, 2);
  const height = rows * STEP + 16;
  const middle = height / 2;
  const place = (at, of) => middle + (at - (of - 1) / 2) * STEP;
  const sides = [count(sources.size, "source"), count(state.agents.size, "agent")];
  const label = `${sides[0]} on the left, the hub, ${sides[1]} on the right`;
  return h(
    "svg",
    { class: "picture", viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": label },
    left.map(([name], at) => line(`source ${name}`, 236, place(at, left.length), 380, middle)),
    right.map(([name], at) => line(`agent ${name}`, 664, place(at, right.length), 520, middle)),
    h("rect", { class: "hub", x: 380, y: middle - 24, width: 140, height: 48, rx: 10 }),
    h("text", { class: "hub", x: 450, y: middle + 5, "text-anchor": "middle" }, "hub"),
    left.map(([name, servers], at) => source(name, servers, place(at, left.length))),
    right.map(([name, calls], at) => agent(name, calls, place(at, right.length))),
    right.length
      ? null
      : h(
          "text",
          { class: "quiet", x: 780, y: middle + 5, "text-anchor": "middle" },
          "nobody is here yet",
        ),
  );
}

function line(name, x, y, toX, toY) {
  const bend = (x + toX) / 2;
  const failed = state.busy.get(name)?.failed;
  const busy = failed ? "wire busy failed" : "wire busy";
  const kind = isBusy(name) ? busy : "wire";
  return h("path", {
    key: name,
    class: kind,
    "data-line": name,
    d: `M${x},${y} C${bend},${y} ${bend},${toY} ${toX},${toY}`,
  });
}

function source(name, servers, y) {
  const lights = servers.slice(0, 12);
  return h(
    "g",
    { key: `source ${name}` },
    h("rect", { class: "node", x: 6, y: y - 18, width: 230, height: 36, rx: 8 }),
    h("text", { x: 18, y: y + 5 }, short(name, 14)),
    lights.map((server, at) =>
      h("circle", {
        key: server.alias,
        class: `dot ${server.state}`,
        cx: 222 - at * 10,
        cy: y,
        r: 3.6,
      }),
    ),
  );
}

function agent(name, calls, y) {
  return h(
    "g",
    { key: `agent ${name}` },
    h("rect", { class: "node", x: 664, y: y - 18, width: 230, height: 36, rx: 8 }),
    h("text", { x: 676, y: y + 5 }, short(name || "unnamed", 16)),
    h(
      "text",
      { class: "quiet", x: 884, y: y + 5, "text-anchor": "end" },
      calls ? count(calls, "call") : "connected",
    ),
  );
}
