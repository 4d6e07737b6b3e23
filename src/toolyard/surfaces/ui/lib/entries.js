// The servers of a list as forms: what each is, and how it is started or reached.

import { h } from "./dom.js";
import { quiet } from "./bits.js";
import { state } from "./store.js";
import { button } from "./parts.js";
import { visible } from "./words.js";
import { area, choice, field, textInput } from "./editing.js";
import { rowsOf } from "./draft.js";
import { MODES, TYPES, doubled, newServer } from "./lists.js";

function definition(server, of, set) {
  const lines = (key, label, help) => (server.odd[key] ? quiet(`${label}: more than lines can hold; see the JSON.`)
    : field(label, area(`${of}-${key}`, server[key], set(key), { rows: rowsOf(server[key]), class: "small" }), help));
  const line = (key, label, attrs) => field(label, textInput(`${of}-${key}`, server[key], set(key), attrs));
  if (server.type === "out") return null;
  if (server.type === "yard") {
    const known = [...new Set([...(state.status?.servers || []).map((each) => each.alias), ...(server.server ? [server.server] : [])])];
    return field("Which", choice(`${of}-server`, server.server, [["", "Choose …"], ...known.map((name) => [name, visible(name)])], set("server")));
  }
  if (server.type === "stdio") {
    return [
      line("command", "Command"), lines("args", "Arguments", "One a line."),
      lines("env", "Environment", "NAME=value, one a line; secrets as ${keyring:name}."), line("cwd", "Folder"),
    ];
  }
  return [line("url", "Address", { placeholder: "https://host/mcp" }), lines("headers", "Headers", "Name: value, one a line.")];
}

// The forms of all servers of a draft; `more` are kinds that only some lists have.
export function entries(draft, errors, more = [], drop = "Take out") {
  const twice = doubled(draft.form);
  return draft.form.servers.map((server) => {
    const of = `server-${server.key}`;
    const set = (key) => (text) => draft.edit(() => { server[key] = text; });
    const isTwice = twice.includes(server.name);
    const types = [...TYPES, ...more];
    if (!types.some(([each]) => each === server.type)) types.push([server.type, visible(server.type)]);
    return h("fieldset", { key: server.key, class: `entry${isTwice || errors.some((each) => each.server === server.name) ? " wrong" : ""}` },
      h("legend", null, visible(server.name) || "a new server"),
      h("div", { class: "cols" },
        field("Name", textInput(`${of}-name`, server.name, set("name"), { "aria-invalid": isTwice ? "true" : undefined })),
        field("What", choice(`${of}-type`, server.type, types, set("type"))),
        server.type === "out" ? null : field("Mode", choice(`${of}-mode`, server.mode, MODES, set("mode")))),
      isTwice ? h("p", { class: "bad" }, "Two servers have this name; one of them would be lost.") : null,
      definition(server, of, set),
      h("p", { class: "row end" }, button(drop, () => draft.edit((list) => { list.servers = list.servers.filter((each) => each !== server); }), { "aria-label": `${drop}: ${server.name || "the new server"}` })));
  });
}

export function addEntry(draft, type) {
  draft.edit(({ servers }) => {
    const names = new Set(servers.map((each) => each.name));
    let name = "server";
    for (let n = 2; names.has(name); n += 1) name = `server-${n}`;
    servers.push({ ...newServer(name), type });
  });
}
