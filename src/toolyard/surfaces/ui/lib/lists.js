// An agent's list, and what differs elsewhere, as a form edits it and as JSON: one is made from the other.

import { fitsLines, fromLines, fromList, toLines } from "./editing.js";

export const TYPES = [
  ["yard", "of the yard"], ["stdio", "stdio"], ["http", "http"], ["streamable_http", "streamable_http"], ["sse", "sse"],
];
export const OUT = ["out", "left out"]; // where there is null in place of a server
export const MODES = [["auto", "auto"], ["shared", "shared"], ["per_session", "per session"]];
const KNOWN = new Set(["type", "command", "args", "env", "cwd", "url", "headers", "mode", "server"]);

let number = 0;

export function newServer(name, given = {}) {
  const said = given || {};
  const rest = Object.fromEntries(Object.entries(said).filter(([key]) => !KNOWN.has(key)));
  const odd = ["args", "env", "headers"].filter((key) => !fitsLines(said[key]));
  number += 1;
  return {
    key: number, name, rest, odd: Object.fromEntries(odd.map((key) => [key, said[key]])),
    type: given === null ? "out" : said.server !== undefined && said.server !== null ? "yard" : said.type || (said.url ? "http" : "stdio"),
    server: said.server || "", command: said.command || "", cwd: said.cwd || "", url: said.url || "",
    args: odd.includes("args") ? "" : (said.args || []).join("\n"),
    env: odd.includes("env") ? "" : toLines(said.env), headers: odd.includes("headers") ? "" : toLines(said.headers, ": "),
    mode: said.mode || "auto",
  };
}

function write(server) {
  if (server.type === "out") return null;
  const { odd } = server;
  const said = { ...server.rest };
  if (server.type === "yard") said.server = server.server;
  else {
    said.type = server.type;
    if (server.type === "stdio") {
      said.command = server.command;
      if (odd.args || server.args) said.args = odd.args || fromList(server.args);
      if (odd.env || server.env.trim()) said.env = odd.env || fromLines(server.env);
      if (server.cwd) said.cwd = server.cwd;
    } else {
      said.url = server.url;
      if (odd.headers || server.headers.trim()) said.headers = odd.headers || fromLines(server.headers, ": ");
    }
  }
  if (server.mode !== "auto") said.mode = server.mode;
  return said;
}

// Servers keyed like those `before` them, so that a field keeps the focus while the JSON is typed.
function readServers(said, before) {
  if (typeof said !== "object" || Array.isArray(said)) throw new Error("“servers” is no object");
  return Object.entries(said).map(([name, each], at) => ({ ...newServer(name, each), ...(before?.servers[at] && { key: before.servers[at].key }) }));
}

const writeServers = (servers) => Object.fromEntries(servers.map((server) => [server.name, write(server)]));

export const LIST = {
  read({ enabled, servers, mcpServers, meta, agent_id: _, ...rest }, before) {
    return { enabled: Boolean(enabled), meta: meta || {}, rest, servers: readServers(servers || mcpServers || {}, before) };
  },
  write(list) {
    const said = { enabled: list.enabled, ...list.rest, servers: writeServers(list.servers) };
    const meta = Object.entries(list.meta).filter(([name]) => name in said.servers);
    return meta.length ? { ...said, meta: Object.fromEntries(meta) } : said;
  },
};

// What differs with one executor: what is not said there is as in the list.
export const OVERRIDE = {
  read({ enabled, servers, ...rest }, before) {
    return { enabled: String(enabled ?? ""), rest, servers: readServers(servers || {}, before) };
  },
  write: ({ enabled, rest, servers }) => ({ ...(enabled && { enabled: enabled === "true" }), ...rest, servers: writeServers(servers) }),
};

// Two servers of one name would be one in the JSON, and the other lost without a word.
export function doubled(list) {
  const names = list.servers.map((server) => server.name);
  return [...new Set(names.filter((name, at) => names.indexOf(name) !== at))];
}
