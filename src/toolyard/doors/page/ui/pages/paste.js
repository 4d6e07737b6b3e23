// Add servers from pasted JSON or an install link: what is in it is shown first, then added one by one.

import { h } from "../lib/dom.js";
import { heads, quiet, small, under } from "../lib/bits.js";
import { api, ask, order, refresh, segment, state } from "../lib/store.js";
import { button, complain, light, link } from "../lib/parts.js";
import { count, short, visible } from "../lib/words.js";
import { area, field, textInput } from "../lib/editing.js";
import { joinWords } from "../lib/shellwords.js";
import { ways } from "../lib/ways.js";
import { serverPath } from "../lib/paths.js";

const PAUSE = 200; // a question for each letter would be in the way of the next
const EXAMPLE = `{
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/data"]
    }
  }
}`;

function runs({ command, args, url, httpUrl, serverUrl }) {
  return url || httpUrl || serverUrl || joinWords([command || [], args || []].flat().map(String));
}

export function open(place) {
  let text = "";
  let wrong = "";
  let servers = []; // what was found, each with what became of it
  let adding = null; // stops the adding
  let hasKeyring = false;
  let timer = 0;
  let turn = 0; // how many texts were read: only the answer to the last one counts
  place.onLeave(() => {
    adding?.abort();
    clearTimeout(timer);
  });
  ask("/secrets").then((answer) => {
    hasKeyring = answer.keyring;
  }, complain);

  function paste(pasted) {
    text = pasted;
    place.redraw();
    clearTimeout(timer);
    timer = setTimeout(read, PAUSE);
  }

  async function read() {
    turn += 1;
    const mine = turn;
    let found = [];
    let trouble = "";
    try {
      if (text.trim()) found = (await order("POST", "/servers/read", { text })).servers;
    } catch (error) {
      trouble = [error.message, error.hint].filter(Boolean).join(". ");
    }
    if (mine !== turn) return;
    wrong = trouble;
    servers = found.map((server) => ({
      ...server,
      values: Object.fromEntries(server.needs.map((need) => [need.name, need.default])),
      isWanted: true,
      done: "",
      refused: null,
    }));
    place.redraw();
  }

  // A secret goes to the keyring where there is one; any other value into the entry itself.
  async function filled({ entry, needs, values }) {
    let json = JSON.stringify(entry);
    for (const { name, secret } of needs) {
      const value = values[name];
      if (!value) continue;
      if (secret && hasKeyring) await order("PUT", `/secrets/${segment(name)}`, { value });
      else json = json.replaceAll(`\${keyring:${name}}`, JSON.stringify(value).slice(1, -1));
    }
    return JSON.parse(json);
  }

  const waiting = () => servers.filter((server) => server.isWanted && !server.done);

  async function addOne(server, signal) {
    server.done = "adding";
    server.refused = null;
    place.redraw();
    try {
      const entry = await filled(server);
      await api("POST", "/servers", { name: server.name, entry }, signal);
      server.done = "added";
    } catch (error) {
      server.done = "";
      if (!signal.aborted) server.refused = error;
    }
    place.redraw();
  }

  async function add() {
    adding = new AbortController();
    const { signal } = adding;
    for (const server of waiting()) {
      if (signal.aborted) break;
      await addOne(server, signal);
    }
    adding = null;
    refresh();
    place.redraw();
  }

  function change(server, key, value) {
    server[key] = value;
    server.refused = null;
    place.redraw();
  }

  // Once it is added, its state is the yard's business.
  function outcome(server) {
    if (server.refused) return h("span", { class: "bad" }, visible(server.refused.message));
    if (server.done === "adding") return light("starting", "adding");
    if (!server.done) return small(server.isWanted ? "will be added" : "left out");
    const row = state.status?.servers.find(({ alias }) => alias === server.name);
    if (!row) return light("ready", "added");
    const tools = row.state === "ready" ? `, ${count(row.tools, "tool")}` : "";
    return [
      light(row.state, `${row.state}${tools}`),
      row.problem ? h("span", { class: "under bad" }, short(row.problem.text, 160)) : null,
    ];
  }

  function wanted(server, { name, title, secret }) {
    const set = (value) => change(server, "values", { ...server.values, [name]: value });
    const type = secret ? "password" : "text";
    return field(
      visible(title || name),
      textInput(`need-${name}`, server.values[name], set, { type }),
    );
  }

  function row(server, at) {
    const isOpen = !server.done && !adding;
    return h(
      "tr",
      { key: at },
      h(
        "th",
        { scope: "row" },
        isOpen
          ? textInput(`name-${at}`, server.name, (name) => change(server, "name", name), {
              "aria-label": `Name of server ${at + 1}`,
            })
          : link(serverPath(server.name), visible(server.name)),
      ),
      h(
        "td",
        { "data-label": "Runs" },
        h("code", null, short(runs(server.entry), 160)),
        server.left_out.length
          ? under(`Not taken, nothing reads it: ${visible(server.left_out.join(", "))}`)
          : null,
        isOpen ? server.needs.map((need) => wanted(server, need)) : null,
      ),
      h("td", { "data-label": "State" }, outcome(server)),
      h(
        "td",
        { class: "number" },
        isOpen
          ? button(server.isWanted ? "Leave out" : "Take it", () =>
              change(server, "isWanted", !server.isWanted),
            )
          : null,
      ),
    );
  }

  function list() {
    if (!servers.length) return null;
    const left = waiting().length;
    return h(
      "section",
      { key: "found", "aria-label": "Servers found" },
      h(
        "table",
        { class: "stack" },
        heads(["Name", "Runs", "State", ""]),
        h("tbody", null, servers.map(row)),
      ),
      h(
        "p",
        { class: "row" },
        adding
          ? button("Cancel", () => adding.abort())
          : button(
              left ? `Add ${count(left, "server")}` : "All are added",
              () => add().catch(complain),
              {
                class: "main",
                disabled: !left,
              },
            ),
        left ? small("They start at once.") : link("/ui", "See all servers"),
      ),
    );
  }

  return () => [
    ways("/ui/add/json"),
    h(
      "div",
      { key: "paste", class: "card" },
      field(
        "JSON, an address or an install link",
        area("pasted", text, paste, {
          rows: 10,
          placeholder: EXAMPLE,
          autofocus: true,
          "aria-invalid": wrong ? "true" : undefined,
          "aria-describedby": "pasted-wrong",
        }),
        "What a server's documentation tells you to put into mcp.json, or its button for VS Code or Cursor.",
      ),
      h("p", { id: "pasted-wrong", class: "bad", role: "status" }, visible(wrong)),
    ),
    list(),
    quiet("Nothing is added before you say so."),
  ];
}
