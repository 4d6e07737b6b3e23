// Pieces of forms that edit lists and policies, and the JSON they stand for.

import { h } from "./dom.js";
import { tag, under } from "./bits.js";
import { writeJson } from "./exactjson.js";
import { visible } from "./words.js";

export function field(label, input, help) {
  return h(
    "div",
    { class: "field" },
    h("label", { for: input.attrs.id }, label),
    help ? h("p", { class: "help" }, help) : null,
    input,
  );
}

export function textInput(id, value, change, attrs = {}) {
  return h("input", {
    type: "text",
    id,
    value,
    autocomplete: "off",
    spellcheck: "false",
    ...attrs,
    on: { input: (event) => change(event.target.value) },
  });
}

export function area(id, value, change, attrs = {}) {
  return h("textarea", {
    id,
    value,
    spellcheck: "false",
    autocomplete: "off",
    ...attrs,
    on: { input: (event) => change(event.target.value) },
  });
}

// `options` are pairs of a value and its words.
export function choice(id, value, options, change, attrs = {}) {
  return h(
    "select",
    { id, value, ...attrs, on: { change: (event) => change(event.target.value) } },
    options.map(([option, words]) => h("option", { key: option, value: option }, words)),
  );
}

export function toggle(id, label, on, change, attrs = {}) {
  return h(
    "label",
    { class: "switch", for: id },
    h("input", {
      type: "checkbox",
      role: "switch",
      id,
      checked: on,
      ...attrs,
      on: { change: (event) => change(event.target.checked) },
    }),
    label,
  );
}

export function check(words, on, change) {
  return h(
    "label",
    { class: "check" },
    h("input", {
      type: "checkbox",
      checked: on,
      on: { change: (event) => change(event.target.checked) },
    }),
    ` ${words}`,
  );
}

// Tables and lists as lines of text: `NAME=value`, one per line.
export function toLines(table, sign = "=") {
  return Object.entries(table || {})
    .map(([key, value]) => `${key}${sign}${value}`)
    .join("\n");
}

// Blanks around a sign that has some are no part of what it stands between.
export function fromLines(text, sign = "=") {
  const table = {};
  const mark = sign.trim();
  for (const line of text.split("\n")) {
    if (!line.trim()) continue;
    const at = line.indexOf(mark);
    const key = at < 0 ? line : line.slice(0, at);
    const value = at < 0 ? "" : line.slice(at + mark.length);
    table[key.trim()] = sign === "=" ? value : value.trim();
  }
  return table;
}

export function fromList(text) {
  return text.split("\n").filter((line) => line !== "");
}

// What lines cannot hold is for the JSON alone.
export function fitsLines(value) {
  if (value === undefined || value === null) return true;
  const isLine = (item) => typeof item === "string" && !item.includes("\n");
  return typeof value === "object" && Object.values(value).every(isLine);
}

export function pretty(value) {
  return writeJson(value, 2);
}

// What is wrong, as a list that is read out when it changes.
export function faults(list, kind) {
  return list.map((fault) =>
    h(
      "li",
      { class: kind, key: `${kind} ${fault.server} ${fault.field} ${fault.text}` },
      tag(kind),
      " ",
      fault.server ? h("strong", null, visible(fault.server), ": ") : null,
      visible(fault.text),
      fault.hint ? under(visible(fault.hint)) : null,
    ),
  );
}
