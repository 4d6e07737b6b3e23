// The servers of a list as forms: what each is, and how it is started or reached.

import { h } from "./dom.js";
import { quiet } from "./bits.js";
import { state } from "./store.js";
import { button } from "./parts.js";
import { visible } from "./words.js";
import { area, choice, field, textInput } from "./editing.js";
import { rowsOf } from "./draft.js";
import { MODES, TYPES, duplicateNames, newServer } from "./lists.js";

function definition(server, id, set) {
  const lines = (key, label, help) => {
    if (server.odd[key]) return quiet(`${label}: more than lines can hold; see the JSON.`);
    const attrs = { rows: rowsOf(server[key]), class: "small" };
    return field(label, area(`${id}-${key}`, server[key], set(key), attrs), help);
  };
  const line = (key, label, attrs = {}) =>
    field(label, textInput(`${id}-${key}`, server[key], set(key), attrs));
  if (server.type === "out") return null;
  if (server.type === "yard") {
    const names = new Set((state.status?.servers || []).map((served) => served.alias));
    if (server.server) names.add(server.server);
    const options = [["", "Choose …"], ...[...names].map((name) => [name, visible(name)])];
    return field("Which", choice(`${id}-server`, server.server, options, set("server")));
  }
  if (server.type === "stdio") {
    return [
      line("command", "Command"),
      lines("args", "Arguments", "One per line."),
      lines("env", "Environment", "NAME=value, one per line; secrets as ${keyring:name}."),
      line("cwd", "Folder"),
    ];
  }
  return [
    line("url", "Address", { placeholder: "https://host/mcp" }),
    lines("headers", "Headers", "Name: value, one per line."),
  ];
}

// The forms of all servers of a draft; `more` are kinds that only some lists have.
export function entries(draft, errors, more = [], drop = "Take out") {
  const duplicates = duplicateNames(draft.form);
  return draft.form.servers.map((server) => {
    const id = `server-${server.key}`;
    const set = (key) => (text) =>
      draft.edit(() => {
        server[key] = text;
      });
    const isTwice = duplicates.includes(server.name);
    const isWrong = isTwice || errors.some((error) => error.server === server.name);
    const remove = () =>
      draft.edit((list) => {
        list.servers = list.servers.filter((other) => other !== server);
      });
    const types = [...TYPES, ...more];
    if (!types.some(([type]) => type === server.type))
      types.push([server.type, visible(server.type)]);
    return h(
      "fieldset",
      { key: server.key, class: isWrong ? "entry wrong" : "entry" },
      h("legend", null, visible(server.name) || "a new server"),
      h(
        "div",
        { class: "cols" },
        field(
          "Name",
          textInput(`${id}-name`, server.name, set("name"), {
            "aria-invalid": isTwice ? "true" : undefined,
          }),
        ),
        field("What", choice(`${id}-type`, server.type, types, set("type"))),
        server.type === "out"
          ? null
          : field("Mode", choice(`${id}-mode`, server.mode, MODES, set("mode"))),
      ),
      isTwice
        ? h("p", { class: "bad" }, "Two servers have this name; one of them would be lost.")
        : null,
      definition(server, id, set),
      h(
        "p",
        { class: "row end" },
        button(drop, remove, { "aria-label": `${drop}: ${server.name || "the new server"}` }),
      ),
    );
  });
}

export function addEntry(draft, type) {
  draft.edit(({ servers }) => {
    const names = new Set(servers.map((server) => server.name));
    let name = "server";
    for (let n = 2; names.has(name); n += 1) name = `server-${n}`;
    servers.push({ ...newServer(name), type });
  });
}
