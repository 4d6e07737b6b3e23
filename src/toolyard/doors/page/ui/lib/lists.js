// An agent's list, and what differs elsewhere: as a form edits it, and as JSON.

import { fitsLines, fromLines, fromList, toLines } from "./editing.js";

export const TYPES = [
  ["yard", "of the yard"],
  ["stdio", "stdio"],
  ["http", "http"],
  ["streamable_http", "streamable_http"],
  ["sse", "sse"],
];
export const OUT = ["out", "left out"]; // where there is null in place of a server
export const MODES = [
  ["auto", "auto"],
  ["shared", "shared"],
  ["per_session", "per session"],
];
const KNOWN = new Set([
  "type",
  "command",
  "args",
  "env",
  "cwd",
  "url",
  "headers",
  "mode",
  "server",
]);

let number = 0;

function typeOf(entry) {
  if (entry === null) return "out";
  if (entry.server !== undefined && entry.server !== null) return "yard";
  return entry.type || (entry.url ? "http" : "stdio");
}

/**
 * The form of one entry of a list.
 * @param {string} name
 * @param {Record<string, any> | null} [entry] null stands for a server that is left out
 */
export function newServer(name, entry = {}) {
  const given = entry || {};
  const unknown = Object.entries(given).filter(([key]) => !KNOWN.has(key));
  // What lines cannot hold is kept as it is, beside the lines.
  const odd = ["args", "env", "headers"].filter((key) => !fitsLines(given[key]));
  number += 1;
  return {
    key: number,
    name,
    rest: Object.fromEntries(unknown),
    odd: Object.fromEntries(odd.map((key) => [key, given[key]])),
    type: typeOf(entry),
    server: given.server || "",
    command: given.command || "",
    cwd: given.cwd || "",
    url: given.url || "",
    args: odd.includes("args") ? "" : (given.args || []).join("\n"),
    env: odd.includes("env") ? "" : toLines(given.env),
    headers: odd.includes("headers") ? "" : toLines(given.headers, ": "),
    mode: given.mode || "auto",
  };
}

function write(server) {
  if (server.type === "out") return null;
  const { odd } = server;
  const entry = { ...server.rest };
  if (server.type === "yard") entry.server = server.server;
  else {
    entry.type = server.type;
    if (server.type === "stdio") {
      entry.command = server.command;
      if (odd.args || server.args) entry.args = odd.args || fromList(server.args);
      if (odd.env || server.env.trim()) entry.env = odd.env || fromLines(server.env);
      if (server.cwd) entry.cwd = server.cwd;
    } else {
      entry.url = server.url;
      if (odd.headers || server.headers.trim())
        entry.headers = odd.headers || fromLines(server.headers, ": ");
    }
  }
  if (server.mode !== "auto") entry.mode = server.mode;
  return entry;
}

// Servers keyed like those `before` them, so that a field keeps the focus while the JSON is typed.
function readServers(value, before) {
  if (typeof value !== "object" || Array.isArray(value)) throw new Error("“servers” is no object");
  return Object.entries(value).map(([name, entry], at) => {
    const server = newServer(name, entry);
    const key = before?.servers[at]?.key;
    return key === undefined ? server : { ...server, key };
  });
}

const writeServers = (servers) =>
  Object.fromEntries(servers.map((server) => [server.name, write(server)]));

export const LIST = {
  read({ enabled, servers, mcpServers, meta, agent_id: _, ...rest }, before) {
    return {
      enabled: Boolean(enabled),
      meta: meta || {},
      rest,
      servers: readServers(servers || mcpServers || {}, before),
    };
  },
  write(list) {
    const value = { enabled: list.enabled, ...list.rest, servers: writeServers(list.servers) };
    const meta = Object.entries(list.meta).filter(([name]) => name in value.servers);
    return meta.length ? { ...value, meta: Object.fromEntries(meta) } : value;
  },
};

// What differs with one executor: what is not value there is as in the list.
export const OVERRIDE = {
  read({ enabled, servers, ...rest }, before) {
    return { enabled: String(enabled ?? ""), rest, servers: readServers(servers || {}, before) };
  },
  write: ({ enabled, rest, servers }) => ({
    ...(enabled && { enabled: enabled === "true" }),
    ...rest,
    servers: writeServers(servers),
  }),
};

// Two servers of one name would be one in the JSON, and the other lost without a word.
export function duplicateNames(list) {
  const names = list.servers.map((server) => server.name);
  return [...new Set(names.filter((name, at) => names.indexOf(name) !== at))];
}
