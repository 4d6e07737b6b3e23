// The figures one looks at every day: how many servers are well, how much is called, what it costs.

import { h } from "./dom.js";
import { small } from "./bits.js";
import { waitingPath } from "./paths.js";
import { spark } from "./parts.js";
import { count, ms, tokens, visible, whole } from "./words.js";

const RECENT = 5; // minutes that say how much is called now
const LARGEST = 3; // servers whose share is told apart

/**
 * Parts of a whole in one bar.
 * @param {[number, string][]} parts each with its share and its kind
 * @param {string} label
 */
function share(parts, label) {
  const sum = parts.reduce((total, [size]) => total + size, 0) || 1;
  let at = 0;
  const bars = parts.map(([size, kind]) => {
    const x = at;
    at += (size / sum) * 100;
    return h("rect", { class: kind, x: x.toFixed(2), y: 0, width: (at - x).toFixed(2), height: 6 });
  });
  return h(
    "svg",
    {
      class: "share",
      viewBox: "0 0 100 6",
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": label,
    },
    bars,
  );
}

function cell(label, value, drawing, note) {
  return h(
    "div",
    null,
    h("dt", null, label),
    h("dd", null, h("b", null, value), drawing, h("span", { class: "note" }, note)),
  );
}

function ready(servers, held) {
  const used = servers.filter((server) => server.enabled);
  const of = (...states) => used.filter((server) => states.includes(server.state)).length;
  const [well, failing, waiting] = [of("ready"), of("failing"), of("waiting")];
  const rest = used.length - well - failing - waiting;
  const bar = share(
    [
      [well, "ok"],
      [failing, "bad"],
      [waiting, "warn"],
      [rest, "idle"],
    ],
    `${well} ready, ${failing} failing, ${waiting} waiting for you, ${rest} others`,
  );
  const wrong = [
    failing ? h("span", { class: "bad" }, `${failing} failing`) : null,
    failing && waiting ? ", " : null,
    waiting ? h("span", { class: "warn" }, `${waiting} waiting for you`) : null,
    held && (failing || waiting) ? ", " : null,
    held ? h("a", { class: "warn", href: waitingPath() }, `${count(held, "call")} waiting`) : null,
  ];
  const note = failing || waiting || held ? wrong : small("nothing needs you");
  return cell("Ready", `${well} of ${used.length}`, bar, note);
}

function calls(figures) {
  const minutes = new Array(60).fill(0);
  for (const row of figures)
    row.minutes.forEach((number, at) => {
      minutes[at] += number;
    });
  const recent = minutes.slice(-RECENT).reduce((sum, number) => sum + number, 0) / RECENT;
  const hour = figures.reduce((sum, row) => sum + row.calls, 0);
  const label = `${count(hour, "call")} in the last hour`;
  const rate = recent && recent < 10 ? recent.toFixed(1) : whole(Math.round(recent));
  return cell("Calls per minute", rate, spark(minutes, label), small(label));
}

function latency(figures, p95) {
  const errors = figures.reduce((sum, row) => sum + row.errors, 0);
  const note = errors ? h("span", { class: "bad" }, count(errors, "error")) : small("no errors");
  return cell("Latency, p95", ms(p95), null, note);
}

function schemas(figures) {
  const costs = figures.filter((row) => row.schema_tokens);
  costs.sort((a, b) => b.schema_tokens - a.schema_tokens);
  const sum = costs.reduce((total, row) => total + row.schema_tokens, 0);
  const first = costs.slice(0, LARGEST);
  const rest = first.reduce((left, row) => left - row.schema_tokens, sum);
  /** @type {[number, string][]} */
  const parts = first.map((row, at) => [row.schema_tokens, `part-${at}`]);
  const label = first
    .map((row) => `${visible(row.server)} ${tokens(row.schema_tokens)}`)
    .join(", ");
  const bar = share([...parts, [rest, "idle"]], label || "no schemas");
  const most = first[0] ? `the most: “${visible(first[0].server)}”` : "of a model's context";
  return cell("Schema tokens", tokens(sum), bar, small(most));
}

export function strip(servers, figures, p95, held = 0) {
  const rows = [...figures.values()];
  return h(
    "section",
    { "aria-label": "The yard in figures" },
    h(
      "dl",
      { class: "strip" },
      ready(servers, held),
      calls(rows),
      latency(rows, p95),
      schemas(rows),
    ),
  );
}
