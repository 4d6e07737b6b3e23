// Who calls what: clients on the left, servers on the right, a line for each pair that has to do
// with each other. Lines that move are calls of this moment.

import { h } from "./dom.js";
import { count, visible } from "./words.js";

const ROW = 44; // high
const MOST = 10; // rows on a side

/**
 * @typedef {object} FlowNode
 * @property {string} name
 * @property {any} node its words
 *
 * @typedef {object} FlowLine
 * @property {string} from a client
 * @property {string} to a server
 * @property {number} calls
 * @property {number} underWay
 * @property {boolean} isBusy a call ended just now, or is under way
 * @property {boolean} hasFailed
 */

// Many more calls make a line a little thicker.
const thickness = (calls) => Math.min(6, 1.5 + Math.log10(1 + calls));

/** @param {FlowNode[]} nodes @param {string} kind */
function side(nodes, kind) {
  const shown = nodes.slice(0, MOST);
  const rest = nodes.length - shown.length;
  return h(
    "ul",
    { class: kind },
    shown.map(({ name, node }) => h("li", { key: name }, node)),
    rest > 0 ? h("li", { class: "quiet" }, `and ${rest} more`) : null,
  );
}

const rowsOf = (nodes) => Math.min(nodes.length, MOST + 1);

/**
 * @param {FlowNode[]} clients
 * @param {FlowNode[]} servers
 * @param {FlowLine[]} lines
 */
export function flow(clients, servers, lines) {
  const rows = Math.max(rowsOf(clients), rowsOf(servers), 1);
  const height = rows * ROW;
  const middle = (nodes, name) => {
    const at = Math.min(
      nodes.findIndex((node) => node.name === name),
      MOST,
    );
    return ((rows - rowsOf(nodes)) / 2 + at + 0.5) * ROW;
  };
  const told = lines
    .slice(0, 20)
    .map(({ from, to, calls }) => `${visible(from) || "unnamed"} to ${visible(to)} ${calls}`);
  return h(
    "div",
    { class: "flow" },
    side(clients, "from"),
    h(
      "svg",
      {
        viewBox: `0 0 100 ${height}`,
        height,
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": `${count(lines.length, "pair")} of clients and servers: ${told.join(", ")}`,
      },
      lines.map((line) => {
        const y = middle(clients, line.from);
        const toY = middle(servers, line.to);
        const kinds = ["wire", line.isBusy ? "busy" : "", line.hasFailed ? "failed" : ""];
        return h("path", {
          key: `${line.from}\n${line.to}`,
          class: kinds.filter(Boolean).join(" "),
          "data-line": `${line.from} ${line.to}`,
          "stroke-width": thickness(line.calls + line.underWay),
          d: `M0,${y} C50,${y} 50,${toY} 100,${toY}`,
        });
      }),
    ),
    side(servers, "to"),
  );
}
