// A server in Node that announces itself without any library: node server.mjs [port]
// Node has no flock, so the change runs under flock(1): `flock FILE.lock node server.mjs --write JSON`.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import { fileURLToPath } from "node:url";

const file = ".nisaba/mcp_servers.json";
const alive = (pid) => { try { return process.kill(pid, 0); } catch (e) { return e.code === "EPERM"; } };
const ours = (e) => (e.host ?? os.hostname()) === os.hostname() && (e.user ?? os.userInfo().uid) === os.userInfo().uid;
const write = ({ id, entry }) => {
  const doc = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file)) : { version: "1.0", servers: {} };
  for (const [key, e] of Object.entries(doc.servers)) if (e?.pid && ours(e) && !alive(e.pid)) delete doc.servers[key];
  entry ? (doc.servers[id] = entry) : delete doc.servers[id];
  const temp = `.nisaba/.mcp_servers.json.${process.pid}-${Date.now()}.tmp`;
  fs.writeFileSync(temp, JSON.stringify(doc, null, 2), { flag: "wx", mode: 0o600, flush: true });
  fs.renameSync(temp, file);
};
if (process.argv[2] === "--write") { write(JSON.parse(process.argv[3])); process.exit(); }

const change = (what) => {
  try {
    fs.mkdirSync(".nisaba", { recursive: true, mode: 0o700 });
    const self = [process.execPath, fileURLToPath(import.meta.url), "--write", JSON.stringify(what)];
    execFileSync("flock", ["-w", "5", `${file}.lock`, ...self]);
  } catch (error) { console.error("not announced:", error.message); } // and the server goes on
};
const port = Number(process.argv[2] ?? 8004), id = `noder_${process.pid}`;
const results = {
  initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "noder", version: "1.0" } },
  "tools/list": { tools: [{ name: "ping_me", inputSchema: { type: "object" } }] },
  "tools/call": { content: [{ type: "text", text: "pong" }] } };
const server = http.createServer(async (request, response) => {
  let body = ""; for await (const part of request) body += part;
  const message = request.method === "POST" ? JSON.parse(body) : {};
  if (message.id === undefined) return response.writeHead(request.method === "POST" ? 202 : 405).end();
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result: results[message.method] ?? {} }));
});
server.listen(port, "127.0.0.1", () => change({ id, entry: {
  name: "noder", pid: process.pid, stdio_active: false, cwd: process.cwd(), host: os.hostname(), user: os.userInfo().uid,
  http: { enabled: true, host: "127.0.0.1", port, url: `http://127.0.0.1:${port}/mcp` },
  started_at: new Date().toISOString(), transports: [], capabilities: { tools: { count: 1, names: ["ping_me"] } } } }));
for (const name of ["SIGTERM", "SIGINT"]) process.on(name, () => { change({ id }); process.exit(); });
