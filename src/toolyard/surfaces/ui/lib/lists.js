// An agent's list as a form edits it, and as the JSON that is saved: one is made from the other.

import { fitsLines, fromLines, fromList, toLines } from "./editing.js";

export const TYPES = [
  ["yard", "of the yard"], ["stdio", "stdio"], ["http", "http"], ["streamable_http", "streamable_http"], ["sse", "sse"],
];
export const MODES = [["auto", "auto"], ["shared", "shared"], ["per_session", "per session"]];
const KNOWN = new Set(["type", "command", "args", "env", "cwd", "url", "headers", "mode", "server"]);

let number = 0;

export function newServer(name = "", said = {}) {
  const rest = Object.fromEntries(Object.entries(said).filter(([key]) => !KNOWN.has(key)));
  const odd = ["args", "env", "headers"].filter((key) => !fitsLines(said[key]));
  number += 1;
  return {
    key: number, name, rest, odd: Object.fromEntries(odd.map((key) => [key, said[key]])),
    type: said.server !== undefined && said.server !== null ? "yard" : said.type || (said.url ? "http" : "stdio"),
    server: said.server || "", command: said.command || "", cwd: said.cwd || "", url: said.url || "",
    args: odd.includes("args") ? "" : (said.args || []).join("\n"),
    env: odd.includes("env") ? "" : toLines(said.env), headers: odd.includes("headers") ? "" : toLines(said.headers, ": "),
    mode: said.mode || "auto",
  };
}

function write(server) {
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

// The form of a list, its servers keyed like those `before` them; throws if the JSON is none.
export function readList(said, before = []) {
  if (said === null || typeof said !== "object" || Array.isArray(said)) throw new Error("this is no object");
  const servers = said.servers || said.mcpServers || {};
  if (typeof servers !== "object" || Array.isArray(servers)) throw new Error("“servers” is no object");
  const known = new Set(["enabled", "servers", "mcpServers", "meta", "agent_id"]);
  return {
    enabled: Boolean(said.enabled), meta: said.meta || {},
    rest: Object.fromEntries(Object.entries(said).filter(([key]) => !known.has(key))),
    servers: Object.entries(servers).map(([name, each], at) => {
      const server = newServer(name, each || {});
      return before[at] ? { ...server, key: before[at].key } : server;
    }),
  };
}

export function writeList(list) {
  const said = { enabled: list.enabled, ...list.rest, servers: Object.fromEntries(list.servers.map((server) => [server.name, write(server)])) };
  const meta = Object.fromEntries(Object.entries(list.meta).filter(([name]) => name in said.servers));
  if (Object.keys(meta).length) said.meta = meta;
  return said;
}

// Two servers of one name would be one in the JSON, and the other lost without a word.
export function doubled(list) {
  const names = list.servers.map((server) => server.name);
  return [...new Set(names.filter((name, at) => names.indexOf(name) !== at))];
}
