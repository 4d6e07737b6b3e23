// Who calls what: pairs of clients and servers of the last hour, and the calls under way.

import { h } from "./dom.js";
import { quiet, small, tag } from "./bits.js";
import { state } from "./store.js";
import { light, link } from "./parts.js";
import { count, ms, visible, whole } from "./words.js";
import { flow } from "./flow.js";
import { serverPath, toolPath } from "./paths.js";

const BUSY_MS = 2000; // how long a line moves after a call
const MOST = 20; // calls that are listed

export const named = (name) => visible(name) || "unnamed";
export const pairKey = (agent, server) => `${agent}\n${server}`;

/**
 * @param {{calls: any[], total: number}} underWay
 * @param {Map<string, {at: number, failed: boolean}>} heard the last call of each pair
 * @returns {import("./flow.js").FlowLine[]} the busiest first
 */
function pairs(underWay, heard) {
  const lines = new Map();
  const line = (from, to) => {
    const key = pairKey(from, to);
    const last = heard.get(key);
    const isFresh = Boolean(last && Date.now() - last.at < BUSY_MS);
    const usual = { from, to, calls: 0, underWay: 0, isBusy: isFresh };
    if (!lines.has(key)) lines.set(key, { ...usual, hasFailed: Boolean(isFresh && last?.failed) });
    return lines.get(key);
  };
  for (const row of state.figures.values())
    for (const [agent, calls] of Object.entries(row.agents)) line(agent, row.server).calls += calls;
  for (const call of underWay.calls) {
    const busy = line(call.agent, call.server);
    busy.underWay += 1;
    busy.isBusy = true;
  }
  return [...lines.values()].sort((a, b) => b.calls + b.underWay - a.calls - a.underWay);
}

function client(name, calls) {
  const more = calls ? count(calls, "call") : "connected";
  return {
    name,
    node: h("div", null, h("span", { class: "name" }, named(name)), small(more)),
  };
}

function serverNode(name) {
  const server = state.status?.servers.find(({ alias }) => alias === name);
  const words = server ? link(serverPath(name), visible(name)) : visible(name);
  const more = server ? light(server.state) : small("removed");
  return { name, node: h("div", null, h("span", { class: "name" }, words), more) };
}

function call({ agent, server, tool, ms: took, waits_for: waitsFor }, at) {
  const path = toolPath(server, tool);
  return h(
    "li",
    { key: at, class: "row spread" },
    h(
      "span",
      null,
      named(agent),
      " → ",
      link(path, `${visible(server)} / ${visible(tool)}`),
      waitsFor === "person" ? tag("waiting for a person") : null,
      waitsFor === "place" ? tag("waiting in line") : null,
    ),
    small(ms(took)),
  );
}

function callsNow({ calls, total }) {
  const shown = calls.slice(0, MOST);
  const rest = total - shown.length;
  return [
    h("ul", { class: "plain", "aria-label": "Calls under way" }, shown.map(call)),
    rest > 0 ? quiet(`and ${whole(rest)} more`) : null,
  ];
}

export function traffic(underWay, heard) {
  const lines = pairs(underWay, heard);
  const calls = new Map([...state.agents.keys()].map((name) => [name, 0]));
  for (const line of lines) calls.set(line.from, (calls.get(line.from) || 0) + line.calls);
  if (!calls.size) return quiet("No client is connected, and nothing was called in the last hour.");
  const clients = [...calls].sort((a, b) => b[1] - a[1]).map(([name, sum]) => client(name, sum));
  const servers = [...new Set(lines.map((line) => line.to))].map(serverNode);
  return [
    flow(clients, servers, lines),
    lines.length ? null : quiet("Nothing was called in the last hour."),
    underWay.calls.length ? callsNow(underWay) : null,
  ];
}
