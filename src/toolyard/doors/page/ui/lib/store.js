// What the page knows: asked of the control API, kept fresh by its events.

import { readJson, writeJson } from "./exactjson.js";
import { recall, remember } from "./memory.js";
import { statusWords } from "./words.js";

export class Refused extends Error {
  constructor(status, body) {
    super(body.detail || body.title || statusWords(status));
    this.status = status;
    this.hint = body.hint || "";
    this.errors = body.errors || [];
  }
}

// What lets this browser in. The storage of an origin is no other port's, which cookies are.
const KEY = "key";
const RENEWAL = "renewal"; // gets a new key for whoever logged in by their own name
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10000;
const LOST_ANSWER =
  "the hub's answer to this link did not arrive, and a link works only once: you need a new one";
const ANSWER_MS = 15000; // after which a request is given up, and sent again

/** @param {AbortController} control @returns {() => void} keeps it from being aborted in a while */
function giveUpLater(control) {
  const timer = setTimeout(() => control.abort(), ANSWER_MS);
  return () => clearTimeout(timer);
}

/** @param {(signal: AbortSignal) => Promise<any>} send a request; given up if nobody answers */
async function soon(send) {
  const control = new AbortController();
  const stay = giveUpLater(control);
  try {
    return await send(control.signal);
  } finally {
    stay();
  }
}

// The printed link brings a code that works once; the key for it is good in all tabs. As long as
// nobody has answered, the code is good, and stays in the address.
export async function enter() {
  if (location.pathname === "/ui/login") await enterByName();
  if (location.pathname !== "/open") return;
  const swap = (signal) =>
    fetch(`/open${location.search}`, { method: "POST", signal }).then(readAnswer);
  let isUnanswered = false; // a try was sent, and nobody knows whether it arrived
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      remember(KEY, (await soon(swap)).key);
      remember(RENEWAL, "");
      break;
    } catch (error) {
      state.entrance = error instanceof Refused ? error : null;
      if (state.entrance && isUnanswered) state.entrance.message = LOST_ANSWER;
      if (error instanceof Refused && error.status < 500) break;
      isUnanswered ||= !(error instanceof Refused);
      tell({ live: "lost" });
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
  state.live = "connecting";
  history.replaceState(null, "", "/ui");
}

// Whoever comes back from the issuer brings what lets them in; whoever only comes here is sent there.
async function enterByName() {
  const { begin: leave, finish } = await import("./login.js");
  let back = "/ui";
  try {
    if (!new URLSearchParams(location.search).has("state")) await leave();
    else back = await finish(location.search);
  } catch (error) {
    shutOut(error, true);
  }
  history.replaceState(null, "", back);
}

// Nobody is let in with this key; what was said first against it says most.
function shutOut(error, canLogIn) {
  const entrance = (state.isLetIn && error) || state.entrance;
  tell({ isLetIn: false, entrance, canLogIn, live: "" });
}

/** Tell whether this page was let in by the name of a person, and not by the printed link. */
export const isNamed = () => recall(KEY).startsWith("typ_");
// Tell whether the page is a member's, who may order nothing but what is their own.
export const isPlainMember = () => state.me !== null && state.me.role !== "keeper";

/** @param {Response} answer @throws {Refused} unless it is good */
async function readAnswer(answer) {
  if (!answer.ok) throw new Refused(answer.status, await answer.json().catch(() => ({})));
  return answer.json();
}

/**
 * Ask the control API.
 * @param {string} method
 * @param {string} path below `/api/v1`
 * @param {any} [body]
 * @param {AbortSignal} [signal]
 * @param {Record<string, string>} [more] headers
 * @returns {Promise<Response>}
 * @throws {Refused} unless the answer is good
 */
export async function api(method, path, body, signal, more) {
  const key = recall(KEY);
  let answer = await request(method, path, body, signal, more);
  if (answer.status === 401 && recall(RENEWAL) && (await renewed(key)))
    answer = await request(method, path, body, signal, more);
  if (answer.ok) return answer;
  const refused = new Refused(answer.status, await answer.json().catch(() => ({})));
  if (answer.status === 401) {
    const challenge = answer.headers.get("www-authenticate") || "";
    shutOut(isNamed() ? refused : null, challenge.includes("resource_metadata"));
  }
  throw refused;
}

const renewed = async (key) => (await import("./login.js")).renew(key);

function request(method, path, body, signal, more) {
  /** @type {Record<string, string>} */
  const headers = { authorization: `Bearer ${recall(KEY)}`, ...more };
  /** @type {RequestInit} */
  const options = { method, signal, headers, cache: "no-store" };
  if (body !== undefined) {
    headers["content-type"] = "application/json";
    options.body = writeJson(body);
  }
  return fetch(`/api/v1${path}`, options);
}

/** @param {string} path @param {AbortSignal} [signal] @returns {Promise<any>} */
export async function ask(path, signal) {
  return (await api("GET", path, undefined, signal)).json();
}

/**
 * The same for what others made, in which a number may be more exact than JavaScript has it.
 * @param {string} method @param {string} path @param {any} [body] @returns {Promise<any>}
 */
export async function askExactly(method, path, body) {
  return readJson(await (await api(method, path, body)).text());
}

/** @param {string} method @param {string} path @param {any} [body] @returns {Promise<any>} */
export async function order(method, path, body) {
  return (await api(method, path, body)).json();
}

// Hear a stream in whole parts, until it ends.
export async function inParts(answer, end, hear) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split(end);
    rest = parts.pop() || "";
    hear(parts);
  }
}

/** @param {(text: string) => any} [read] `readJson` for what others made */
export const events = (answer, hear, read = JSON.parse) =>
  inParts(answer, "\n\n", (parts) => {
    for (const part of parts) {
      const found = /^event: (\w+)\n(?:id: \d+\n)?data: ([^]*)$/.exec(part);
      if (found) hear(found[1], read(found[2]));
    }
  });

export const segment = encodeURIComponent;

// With many servers the picture changes often; drawing less often keeps the page smooth.
const MANY_SERVERS = 50;
const MANY_PAUSE_MS = 200;

// The state every page may look at. Pages draw again after a change, at most once a frame.
export const state = {
  isLetIn: true,
  /** @type {Refused | null} */
  entrance: null, // what was said against the link or login that led here
  canLogIn: false, // people come in by their own name
  /** @type {any} */
  me: null, // the member whose page it is, if it is one's
  live: "connecting", // connecting, live, lost; none while nobody is let in
  /** @type {Refused | null} */
  trouble: null, // what the hub said last instead of its state
  revision: -1,
  since: 0, // when the hub was started
  /** @type {any} */
  status: null,
  figures: new Map(),
  p95: 0, // of all calls of the last hour, in milliseconds
  hasHistory: true,
  agents: new Map(), // who is there or called in the last hour, with the number of calls
  waiting: 0, // calls that a rule holds until a person answers
  busy: new Map(), // line -> when its last call was heard
};

const watchers = new Set();
let drawing = false;

export function watch(draw) {
  watchers.add(draw);
  return () => watchers.delete(draw);
}

export function tell(change) {
  Object.assign(state, change);
  if (drawing) return;
  drawing = true;
  const isLarge = state.status && state.status.servers.length > MANY_SERVERS;
  setTimeout(() => requestAnimationFrame(drawAll), isLarge ? MANY_PAUSE_MS : 0);
}

function drawAll() {
  drawing = false;
  for (const draw of [...watchers]) draw();
}

const heard = new Set();

// Hear of every event as it comes: `picture` and `calls`.
export function listen(hear) {
  heard.add(hear);
  return () => heard.delete(hear);
}

// Look again with every new picture, until the page is left.
export const onPicture = (place, look) =>
  place.onLeave(
    listen((kind) => {
      if (kind === "picture") look();
    }),
  );

let asking = false;
let again = false;

export async function refresh() {
  if (asking) {
    again = true;
    return;
  }
  asking = true;
  try {
    if (isNamed()) await meet();
    if (isPlainMember()) return;
    const status = await soon((signal) => ask("/status", signal));
    patience = FIRST_PAUSE_MS;
    tell({
      status,
      trouble: null,
      revision: status.revision,
      isLetIn: true,
      since: Date.now() - status.uptime_s * 1000,
    });
  } catch (error) {
    if (state.isLetIn) lost(error);
  } finally {
    asking = false;
    if (again) {
      again = false;
      setTimeout(refresh, 250);
    }
  }
}

// Learn whose page this is. With another role, other pages are theirs.
async function meet() {
  const me = await soon((signal) => ask("/my/self", signal));
  if (state.me && state.me.role !== me.role) location.reload();
  patience = FIRST_PAUSE_MS;
  tell({ me, trouble: null, isLetIn: true });
}

export async function refreshFigures() {
  if (isPlainMember()) return;
  try {
    const [figures, clients] = await Promise.all([ask("/figures"), ask("/passports")]);
    const agents = new Map();
    for (const client of [
      ...clients.strangers,
      ...clients.passports.flatMap((quirk) => quirk.clients),
    ]) {
      if (client.sessions) agents.set(client.name, 0);
    }
    for (const row of figures.servers) {
      row.times = [];
      for (const [name, calls] of Object.entries(row.agents))
        agents.set(name, (agents.get(name) || 0) + calls);
    }
    const byServer = new Map(figures.servers.map((row) => [row.server, row]));
    tell({
      figures: byServer,
      agents,
      p95: figures.p95_ms,
      hasHistory: figures.has_history,
    });
    times = [];
    callsCounted = figures.passed;
    lastMinute = minute();
  } catch {
    /* the connection's state is shown already */
  }
}

const BUSY_MS = 2000; // how long a line moves after a call
const minute = () => Math.floor(Date.now() / 60000);
let lastMinute = minute();

// The hour moves on: the newest minute is the last of the line.
function advance() {
  const passed = minute() - lastMinute;
  if (passed <= 0) return;
  lastMinute += passed;
  for (const row of state.figures.values()) {
    row.minutes = [...row.minutes, ...new Array(Math.min(passed, 60)).fill(0)].slice(-60);
  }
  tell({});
}

let callsCounted = 0; // how many calls the figures hold
/** @type {number[]} */
let times = []; // how long those took that were heard of since

function hearCalls({ since, upto, groups }) {
  advance();
  // What the figures hold already only moves the lines; what they hold in part is asked for.
  const isNew = since >= callsCounted;
  if (!isNew && upto > callsCounted) refreshFigures();
  const now = Date.now();
  for (const group of groups) {
    const row = state.figures.get(group.server);
    if (row && isNew) count(row, group);
    if (isNew) state.agents.set(group.agent, (state.agents.get(group.agent) || 0) + group.calls);
    const server = state.status?.servers.find(({ alias }) => alias === group.server);
    for (const line of [
      `agent ${group.agent}`,
      `source ${server?.source}`,
      `server ${group.server}`,
    ]) {
      state.busy.set(line, { at: now, failed: group.errors > 0 });
    }
  }
  tell({});
  setTimeout(() => tell({}), BUSY_MS + 100);
}

function count(row, group) {
  row.minutes[row.minutes.length - 1] += group.calls;
  row.calls += group.calls;
  row.errors += group.errors;
  row.agents[group.agent] = (row.agents[group.agent] || 0) + group.calls;
  row.times = [...row.times, ...group.ms].slice(-200);
  row.p95_ms = p95Of(row.times, row.p95_ms);
  times = [...times, ...group.ms].slice(-200);
  state.p95 = p95Of(times, state.p95);
}

// Until enough is heard, what the hub counted over the hour says more.
function p95Of(heardOf, counted) {
  const sorted = [...heardOf].sort((a, b) => a - b);
  const p95 = sorted[Math.ceil(sorted.length * 0.95) - 1] || 0;
  return sorted.length >= 20 || !counted ? p95 : Math.max(counted, p95);
}

export function isBusy(line) {
  const heardOf = state.busy.get(line);
  return heardOf !== undefined && Date.now() - heardOf.at < BUSY_MS;
}

const HIDDEN_MS = 5000; // after which a page that nobody sees hangs up
let stream = null;
let patience = FIRST_PAUSE_MS;
let retrying = null;
let hiding = null;
let figuring = null;

function hangUp() {
  stream?.abort();
  stream = null;
}

function lost(error) {
  hangUp();
  tell({ live: "lost", trouble: error instanceof Refused ? error : null });
  clearTimeout(retrying);
  retrying = setTimeout(connect, patience);
  patience = Math.min(patience * 2, LONGEST_PAUSE_MS);
}

// Do not wait until the next try.
export function retry() {
  clearTimeout(retrying);
  connect();
}

function figureIn(pause) {
  clearTimeout(figuring);
  figuring = setTimeout(refreshFigures, pause);
}

export async function connect() {
  if (stream || document.hidden) return;
  if (isNamed() && !state.me) {
    await refresh();
    if (!state.me || stream) return;
  }
  const mine = (stream = new AbortController());
  const stay = giveUpLater(mine);
  let trouble = null;
  try {
    const path = isPlainMember() ? "/my/events" : "/events";
    const answer = await api("GET", path, undefined, mine.signal);
    stay();
    // The hub tells of calls that wait if there were any since its start.
    tell({ live: "live", waiting: 0 });
    refresh();
    refreshFigures();
    await events(answer, hearEvent);
  } catch (error) {
    trouble = error; // refused, broken or ended: it is gone
    if (error instanceof Refused && error.status === 403) refresh(); // with another role, perhaps
  } finally {
    stay();
  }
  if (stream !== mine) return;
  if (state.isLetIn) lost(trouble);
  else {
    hangUp();
    tell({ live: "" });
  }
}

function hearEvent(kind, said) {
  if (kind === "self") {
    refresh();
    for (const hear of heard) hear("picture", said);
  }
  if (kind === "waiting") tell({ waiting: said.calls });
  if (kind === "clients") figureIn(200);
  if (["clients", "own", "waiting"].includes(kind)) for (const hear of heard) hear(kind, said);
  if (kind === "picture") {
    if (said.revision !== state.revision) refresh();
    figureIn(1500); // memory and schemas change with the picture
    for (const hear of heard) hear(kind, said);
  }
  if (kind === "calls") {
    hearCalls(said);
    for (const hear of heard) hear(kind, said.groups);
  }
}

export function begin() {
  setInterval(advance, 5000); // the clock moves, nothing is asked
  document.addEventListener("visibilitychange", () => {
    // A browser opens few connections to one host: pages that nobody sees give theirs back.
    clearTimeout(hiding);
    if (!document.hidden) connect();
    else hiding = setTimeout(hangUp, HIDDEN_MS);
  });
  // Another tab was let in, and so is this one.
  addEventListener("storage", (event) => {
    if (event.key === KEY && !state.isLetIn) location.reload();
  });
  if (!isNamed()) refresh();
  connect();
}
