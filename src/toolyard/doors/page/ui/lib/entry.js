// The entry of a server, in a form of one column and as JSON beside it.

import { h } from "./dom.js";
import { quiet } from "./bits.js";
import { order, segment } from "./store.js";
import {
  area,
  check,
  choice,
  faults,
  field,
  fitsLines,
  fromLines,
  textInput,
  toLines,
} from "./editing.js";
import { rowsOf } from "./draft.js";
import { joinWords, splitWords } from "./shellwords.js";
import { count } from "./words.js";

const HIDDEN = "[secret]";
const SECRET = /token|secret|passw|pwd|credential|cookie|auth|api[-_]?key|key$|^pat$/i;
const URLS = ["url", "httpUrl", "serverUrl"];
const OURS = new Set([
  ...URLS,
  ..."type transport command args env environment cwd headers title timeout".split(" "),
]);
const WAYS = [
  ["command", "A command on this machine"],
  ["url", "An address"],
];
const TRANSPORTS = [
  ["http", "Streamable HTTP"],
  ["sse", "SSE (older servers)"],
];

// Tables that lines cannot hold stay as they are, and are edited as JSON.
function lines(form, key, table, sign) {
  if (fitsLines(table)) form[key] = toLines(table, sign);
  else form.rest[key] = table;
}

function read(entry) {
  const url = URLS.map((key) => entry[key]).find(Boolean) || "";
  const words = [entry.command || [], entry.args || []].flat().map(String);
  const kind = /sse/i.test(entry.type || entry.transport || "") ? "sse" : "http";
  const form = {
    way: url && !words.length ? "url" : "command",
    command: joinWords(words),
    cwd: entry.cwd || "",
    url,
    transport: kind,
    env: "",
    headers: "",
    title: entry.title || "",
    timeout: entry.timeout ? String(entry.timeout) : "",
    rest: Object.fromEntries(Object.entries(entry).filter(([key]) => !OURS.has(key))),
  };
  lines(form, "env", entry.env || entry.environment, "=");
  lines(form, "headers", entry.headers, ": ");
  return form;
}

function write(form) {
  const [command = "", ...args] = splitWords(form.command);
  const entry = { ...form.rest };
  if (form.way === "url") {
    Object.assign(entry, { type: form.transport, url: form.url.trim() });
    if (form.headers.trim()) entry.headers = fromLines(form.headers, ": ");
  } else {
    Object.assign(entry, { command, args });
    if (form.env.trim()) entry.env = fromLines(form.env);
    if (form.cwd.trim()) entry.cwd = form.cwd.trim();
  }
  if (form.title) entry.title = form.title;
  if (Number(form.timeout) > 0) entry.timeout = Number(form.timeout);
  return entry;
}

export const ENTRY = { read, write };

// Values in clear text under the names that secrets have.
function secretsIn(entry) {
  const found = [];
  for (const key of ["env", "headers"])
    for (const [name, value] of Object.entries(entry?.[key] || {}))
      if (
        SECRET.test(name) &&
        typeof value === "string" &&
        value &&
        !/\$\{|^\[secret\]$/.test(value)
      )
        found.push([key, name]);
  return found;
}

/**
 * Move what looks like a secret to the keyring; the entry then refers to it.
 * @param {string} server
 * @param {any} entry
 */
export async function hideSecrets(server, entry) {
  const hidden = structuredClone(entry);
  for (const [key, name] of secretsIn(entry)) {
    const secret = `${server}-${name}`.toLowerCase().replace(/[^a-z0-9-]+/g, "-");
    const text = entry[key][name];
    const word = /^(Bearer |Basic )?/.exec(text)?.[0] || "";
    await order("PUT", `/secrets/${segment(secret)}`, { value: text.slice(word.length) });
    hidden[key][name] = `${word}\${keyring:${secret}}`;
  }
  return hidden;
}

/**
 * The check that moves secrets to the keyring, where there are some and there is one.
 * @param {any} entry
 * @param {{ hasKeyring: boolean, inKeyring: boolean }} choices
 * @param {() => void} redraw
 */
export function secretChoice(entry, choices, redraw) {
  const number = secretsIn(entry).length;
  if (!number) return null;
  if (!choices.hasKeyring)
    return quiet(
      `This system has no keyring: ${count(number, "secret")} will be in the servers file in clear text.`,
    );
  return h(
    "p",
    null,
    check(`Keep ${count(number, "secret")} in the system's keyring`, choices.inKeyring, (on) => {
      choices.inKeyring = on;
      redraw();
    }),
  );
}

/** @param {import("./draft.js").Draft} draft @param {any[]} errors what the hub said is wrong */
export function entryForm(draft, errors) {
  const { form } = draft;
  const set = (key) => (value) =>
    draft.edit((edited) => {
      edited[key] = value;
    });
  const text = (key, label, help, attrs = {}) =>
    field(label, textInput(`entry-${key}`, form[key], set(key), attrs), help);
  const many = (key, label, help) =>
    field(
      label,
      area(`entry-${key}`, form[key], set(key), { class: "small", rows: rowsOf(form[key]) }),
      help,
    );
  const hides = `${form.env}${form.headers}${form.command}${form.url}`.includes(HIDDEN);
  const shown =
    form.way === "command"
      ? [
          text("command", "Command", "With its arguments, as you would type it in a terminal.", {
            placeholder: "npx -y @modelcontextprotocol/server-filesystem /data",
            required: true,
          }),
          many("env", "Environment variables", "NAME=value, one per line."),
          text("cwd", "Folder", "Where it is started. Empty: the hub's own."),
        ]
      : [
          text("url", "Address", "", { placeholder: "https://example.com/mcp", required: true }),
          field(
            "Transport",
            choice("entry-transport", form.transport, TRANSPORTS, set("transport")),
          ),
          many("headers", "Headers", "Name: value, one per line."),
        ];
  return h(
    "div",
    null,
    field("It is", choice("entry-way", form.way, WAYS, set("way"))),
    shown,
    hides ? quiet(`${HIDDEN} stays what it is. Type over it to change it.`) : null,
    h(
      "details",
      { key: "more" },
      h("summary", null, "More"),
      text("title", "Title", "What people see beside the name."),
      text("timeout", "Seconds a call may take", "Empty: the hub's own limit.", {
        inputmode: "numeric",
      }),
    ),
    h("ul", { class: "plain findings", "aria-live": "polite" }, faults(errors, "error")),
  );
}
