// Calls that a rule holds: who wants to call what, and a person's answer to each.

import { byId, h, remembered } from "./dom.js";
import { facts, looking, quiet, top } from "./bits.js";
import { askExactly, isPlainMember, listen, order, segment, state, tell } from "./store.js";
import { button, code, complain, empty, link, say } from "./parts.js";
import { callerOf } from "./callers.js";
import { seconds, visible, whole } from "./words.js";
import { pretty } from "./editing.js";
import { rulesPath, serverPath } from "./paths.js";

const LEAD =
  "A rule holds these calls until a person allows them. Each answer counts for one call, once.";
const TICK_MS = 1000;
const MOST_SHOWN = 4000; // characters of the arguments, until somebody wants all
const MOST_SETTLED = 20; // calls that wait no longer and still have their place
const NOT_WAITING = [404, 409];

const settledAs = {
  yes: "You allowed this call.",
  no: "You denied this call, so it did not run.",
};
const cardId = ({ id }) => `call-${id}`;
const nameOf = ({ tool, server }) => `${tool} of ${server}`;

// The API cannot tell why a call waits no longer; its time says whether it can have expired.
function endOf({ expires, in_client: isInClient }) {
  if (expires <= Date.now() / 1000 + 1) return "Nobody answered in time, so this call did not run.";
  const where = isInClient ? "in its client" : "elsewhere";
  return `This call was answered ${where}, or its client took it back.`;
}

function textOf({ arguments: given }) {
  return visible(typeof given === "string" ? given : pretty(given ?? {}));
}

/**
 * The page of calls that wait.
 * @param {import("../pages/index.js").Place} place
 * @param {string} path of the calls in the control API
 */
export function waitingCalls(place, path) {
  const rows = new Map(); // id -> the call, and why it waits no longer
  const sent = new Set(); // the calls whose answer is on its way
  const unfolded = new Set(); // the calls whose arguments are shown whole
  const memory = new Map();
  let isLoaded = false;
  let turn = 0; // how many lists were asked for: only the answer to the last one counts

  const isOpen = ({ end }) => !end;

  async function load() {
    turn += 1;
    const mine = turn;
    try {
      const { calls } = await askExactly("GET", path);
      if (mine !== turn) return;
      isLoaded = true;
      take(calls);
      tell({ waiting: calls.length });
    } catch (error) {
      if (state.isLetIn) complain(error);
    }
    place.redraw();
  }

  // Cards keep their places: one that moved up could be allowed in place of another.
  function take(calls) {
    const waiting = new Set(calls.map(({ id }) => id));
    for (const call of calls) if (!rows.has(call.id)) rows.set(call.id, { call, end: "" });
    for (const { call, end } of [...rows.values()])
      if (!end && !waiting.has(call.id) && !sent.has(call.id)) settle(call, endOf(call));
  }

  function settle(call, end) {
    rows.set(call.id, { call, end });
    const settled = [...rows.values()].filter((row) => !isOpen(row));
    for (const row of settled.slice(0, -MOST_SETTLED)) rows.delete(row.call.id);
    say(`${nameOf(call)}: ${end}`);
  }

  async function answer(call, word) {
    sent.add(call.id);
    // Not on a button: a key that is pressed twice must not answer the next call.
    byId(cardId(call)).focus();
    place.redraw();
    try {
      await order("POST", `${path}/${segment(call.id)}`, { answer: word });
      settle(call, settledAs[word]);
    } catch (error) {
      if (!NOT_WAITING.includes(error.status)) complain(error);
    }
    sent.delete(call.id);
    load();
  }

  function clear() {
    for (const { call, end } of [...rows.values()]) if (end) rows.delete(call.id);
    place.redraw();
  }

  function given(call) {
    const text = textOf(call);
    if (text === "{}") return quiet("No arguments.");
    const rest = unfolded.has(call.id) ? 0 : Math.max(0, text.length - MOST_SHOWN);
    const attrs = { role: "group", "aria-label": "Arguments" };
    return h(
      "div",
      null,
      code(rest ? `${text.slice(0, MOST_SHOWN)} …` : text, attrs),
      rest ? button(`Show ${whole(rest)} more characters`, () => unfold(call)) : null,
    );
  }

  function unfold({ id }) {
    unfolded.add(id);
    place.redraw();
  }

  function answers(call) {
    if (call.in_client) return quiet("The client shows this question. Answer it there.");
    const isSent = sent.has(call.id);
    const press = (words, word, kind) =>
      button(words, () => answer(call, word), {
        class: kind,
        disabled: isSent,
        "aria-label": `${words} ${nameOf(call)}`,
      });
    return h("p", { class: "row answers" }, press("Allow", "yes", "main"), press("Deny", "no"));
  }

  function rule({ rule: names }) {
    return isPlainMember() ? visible(names) : link(rulesPath, visible(names));
  }

  function card({ call, end }) {
    const left = Math.max(0, call.expires - Date.now() / 1000);
    const server = visible(call.server);
    const sign = `${call.id} ${unfolded.has(call.id)}`;
    return h(
      "li",
      { key: call.id, id: cardId(call), class: end ? "card settled" : "card", tabindex: "-1" },
      h(
        "h2",
        null,
        isPlainMember() ? server : link(serverPath(call.server), server),
        " / ",
        visible(call.tool),
      ),
      facts([
        ["Caller", callerOf(call.caller)],
        ["Client", visible(call.agent)],
        ["Rule", rule(call)],
        ["Reason", visible(call.reason)],
        ["Expires", end ? "" : `in ${seconds(left)}`],
      ]),
      remembered(memory, call.id, sign, () => given(call)),
      end ? h("p", { class: "end" }, end) : answers(call),
    );
  }

  function nothing() {
    const words = "A rule can hold calls until a person allows them.";
    const more = isPlainMember() ? null : [" ", link(rulesPath, "See the rules")];
    return empty("No call is waiting.", h("p", null, words, more));
  }

  function list() {
    if (!isLoaded) return looking();
    const shown = [...rows.values()];
    return [
      shown.some(isOpen) ? null : nothing(),
      h("ul", { class: "calls-held" }, shown.map(card)),
    ];
  }

  const ticking = setInterval(() => [...rows.values()].some(isOpen) && place.redraw(), TICK_MS);
  place.onLeave(() => clearInterval(ticking));
  place.onLeave(listen((kind) => kind === "waiting" && load()));
  load();
  return () => [
    top(
      "Waiting calls",
      LEAD,
      [...rows.values()].every(isOpen) ? null : button("Clear answered", clear),
    ),
    h("div", { key: "list" }, list()),
  ];
}
