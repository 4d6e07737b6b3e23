// Activity: what is called, by whom and how well, along time and at this moment.

import { h } from "../lib/dom.js";
import { sheet, top } from "../lib/bits.js";
import { ask, listen, segment } from "../lib/store.js";
import { button, complain, empty } from "../lib/parts.js";
import { ms, visible, whole } from "../lib/words.js";
import { blankCharts, overTime } from "../lib/overtime.js";
import { schemaCosts } from "../lib/costs.js";
import { named, pairKey, traffic } from "../lib/traffic.js";

const SINCE = [
  ["15m", "15 min", "in the last 15 minutes"],
  ["1h", "1 hour", "in the last hour"],
  ["1d", "1 day", "in the last day"],
  ["7d", "7 days", "in the last week"],
];
const BUCKETS = { "15m": 60, "1h": 60, "1d": 48, "7d": 56 };
const BY = [
  ["server", "By server"],
  ["agent", "By client"],
];
const DEFAULTS = { since: "1h", by: "server", server: "", agent: "" };
const LOOK_MS = 2000; // how often calls under way are asked for
const LATER_MS = 3000; // how long after a call the charts are drawn anew

const query = (pairs) => pairs.map(([key, value]) => `${key}=${segment(value)}`).join("&");

// Some of a few, side by side; the chosen one is pressed.
function choices(label, options, chosen, choose) {
  return h(
    "span",
    { class: "choices", role: "group", "aria-label": label },
    options.map(([value, words]) =>
      button(words, () => choose(value), { "aria-pressed": String(value === chosen) }),
    ),
  );
}

function figure(label, value, note) {
  return h(
    "div",
    null,
    h("dt", null, label),
    h("dd", null, h("b", null, value), h("span", { class: "note" }, note)),
  );
}

function errors({ all_errors: wrong, all_calls: all }) {
  if (!wrong) return "no call failed";
  const share = (wrong / all) * 100;
  return h("span", { class: "bad" }, `${share.toFixed(share < 10 ? 1 : 0)} % of all calls`);
}

function strip(total, underWay, span) {
  const asked = underWay.calls.filter((call) => call.waits_for === "person").length;
  const waits = [
    asked ? `${asked} waiting for a person` : "",
    underWay.in_line ? `${whole(underWay.in_line)} waiting in line` : "",
  ].filter(Boolean);
  const waiting = h("span", { class: "warn" }, waits.join(", "));
  const median = total?.all_p50_ms ? `median ${ms(total.all_p50_ms)}` : "no calls";
  return h(
    "dl",
    { class: "strip calls", "aria-label": "Calls in figures" },
    figure("Calls", total ? whole(total.all_calls) : "–", span),
    figure("Errors", total ? whole(total.all_errors) : "–", total ? errors(total) : ""),
    figure("Latency, p95", ms(total?.all_p95_ms), median),
    figure("Under way", whole(underWay.total), waits.length ? waiting : "right now"),
  );
}

export function open(place) {
  const told = new URLSearchParams(location.search);
  const asked = Object.fromEntries(
    Object.entries(DEFAULTS).map(([key, usual]) => [key, told.get(key) || usual]),
  );
  let timeline = null;
  let refused = null; // why there is none
  let underWay = { calls: [], total: 0 };
  let costs = null;
  let turn = 0; // how many timelines were asked for: only the last one counts
  let later = 0;
  const heard = new Map(); // the last call of each client to each server
  const charts = overTime(place.redraw);

  async function load() {
    turn += 1;
    const mine = turn;
    const buckets = BUCKETS[asked.since] || 60;
    try {
      const answer = await ask(
        `/history/timeline?${query(Object.entries(asked))}&buckets=${buckets}`,
      );
      if (mine !== turn) return;
      timeline = answer;
      refused = null;
    } catch (error) {
      if (mine !== turn) return;
      refused = error;
    }
    place.redraw();
  }

  async function lookNow() {
    if (document.hidden) return;
    try {
      underWay = await ask("/calls");
      place.redraw();
    } catch {
      /* the shell says that the connection is lost */
    }
  }

  function loadCosts() {
    ask("/figures/schemas").then((answer) => {
      costs = answer;
      place.redraw();
    }, complain);
  }

  function hear(kind, groups) {
    if (kind === "picture") loadCosts();
    if (kind !== "calls") return;
    const at = Date.now();
    for (const { agent, server, errors: failed } of groups)
      heard.set(pairKey(agent, server), { at, failed: failed > 0 });
    later ||= setTimeout(() => {
      later = 0;
      load();
    }, LATER_MS);
  }

  function set(key, value) {
    asked[key] = value;
    const chosen = query(Object.entries(asked).filter(([name, word]) => word !== DEFAULTS[name]));
    history.replaceState(null, "", `${location.pathname}${chosen ? `?${chosen}` : ""}`);
    charts.showAll();
    load();
  }

  function chip(key, words) {
    if (!asked[key]) return null;
    const name = named(asked[key]);
    const label = `Show all, not only ${name}`;
    return button(`${words}: ${name} ✕`, () => set(key, ""), { "aria-label": label });
  }

  function drawn() {
    if (refused) return empty(visible(refused.message), h("p", null, visible(refused.hint)));
    return timeline ? charts.draw(timeline, asked) : blankCharts();
  }

  // Below what has its size only when it has come, so that nothing jumps.
  function below() {
    if (!timeline && !refused) return null;
    return h(
      "div",
      { key: "now", class: "two" },
      sheet("Who calls what", traffic(underWay, heard)),
      sheet("Context spent on tools", schemaCosts(costs)),
    );
  }

  const looks = setInterval(lookNow, LOOK_MS);
  place.onLeave(() => {
    clearInterval(looks);
    clearTimeout(later);
    charts.end();
  });
  place.onLeave(listen(hear));
  load();
  lookNow();
  loadCosts();
  return () => {
    const span = SINCE.find(([value]) => value === asked.since)?.[2] || `since ${asked.since}`;
    return [
      top(
        "Activity",
        "",
        h(
          "span",
          { class: "row" },
          chip("server", "Server"),
          chip("agent", "Client"),
          choices("Lines", BY, asked.by, (by) => set("by", by)),
          choices("Time", SINCE, asked.since, (since) => set("since", since)),
        ),
      ),
      strip(timeline?.total, underWay, span),
      h("div", { key: "time" }, drawn()),
      below(),
    ];
  };
}
