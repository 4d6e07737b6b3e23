// Something that is edited in a form and as JSON at once: whichever speaks, the other follows.

import { h } from "./dom.js";
import { small } from "./bits.js";
import { visible } from "./words.js";
import { area, field, fromLines, fromList, pretty, toLines } from "./editing.js";

export class Draft {
  isDirty = false;
  wrong = ""; // what the JSON parser says of the text, if it cannot be read

  // `read` makes the form of a value, `write` the value of a form.
  constructor(value, { read, write, changed }, before = undefined) {
    this.read = read;
    this.write = write;
    this.changed = changed;
    this.form = read(value, before);
    this.text = pretty(write(this.form));
  }

  get value() {
    return this.wrong ? null : JSON.parse(this.text);
  }

  edit(change) {
    change(this.form);
    this.text = pretty(this.write(this.form));
    this.wrong = "";
    this.#touch();
  }

  type(text) {
    this.text = text;
    try {
      const value = JSON.parse(text);
      if (value === null || typeof value !== "object" || Array.isArray(value))
        throw new Error("this is no object");
      this.form = this.read(value, this.form);
      this.wrong = "";
    } catch (error) {
      this.wrong = error.message;
    }
    this.#touch();
  }

  #touch() {
    this.isDirty = true;
    this.changed();
  }

  asJson(id) {
    return h("details", { class: "json" }, h("summary", null, "As JSON"), this.jsonField(id));
  }

  jsonField(id) {
    const attrs = {
      class: "raw",
      rows: 14,
      "aria-invalid": this.wrong ? "true" : undefined,
      "aria-describedby": `${id}-wrong`,
    };
    const trouble = this.wrong
      ? `This cannot be read yet: ${visible(this.wrong)}. The form shows what could.`
      : "";
    return [
      field(
        "The same as JSON",
        area(id, this.text, (text) => this.type(text), attrs),
      ),
      h("p", { id: `${id}-wrong`, class: "bad" }, trouble),
    ];
  }
}

/**
 * A form of flags, lists and tables (both as lines of text) and plain values, and the JSON it
 * stands for.
 * @param {object} parts
 * @param {string[]} [parts.flags]
 * @param {string[][]} parts.lists each [key, label, help]
 * @param {string[][]} parts.tables each [key, label, help, sign between name and value]
 * @param {Record<string, any>} [parts.plain] what is usual, by key
 */
export function formOf({ flags = [], lists, tables, plain = {} }) {
  const known = new Set([
    ...flags,
    ...Object.keys(plain),
    ...lists.map(([key]) => key),
    ...tables.map(([key]) => key),
  ]);
  return {
    read(value) {
      const form = {
        rest: Object.fromEntries(Object.entries(value).filter(([key]) => !known.has(key))),
      };
      for (const key of flags) form[key] = value[key] !== false;
      for (const key of Object.keys(plain)) form[key] = value[key] || plain[key];
      for (const [key] of lists) form[key] = (value[key] || []).join("\n");
      for (const [key, , , sign] of tables) form[key] = toLines(value[key], sign);
      return form;
    },
    write(form) {
      const value = { ...form.rest };
      for (const key of [...flags, ...Object.keys(plain)]) value[key] = form[key];
      for (const [key] of lists) value[key] = fromList(form[key]);
      for (const [key, , , sign] of tables) value[key] = fromLines(form[key], sign);
      return value;
    },
  };
}

export function lineFields(draft, entries) {
  return entries.map(([key, label, help]) => {
    const text = draft.form[key];
    const change = (typed) =>
      draft.edit((form) => {
        form[key] = typed;
      });
    return field(label, area(key, text, change, { rows: rowsOf(text), class: "small" }), help);
  });
}

export const rowsOf = (text) => Math.min(12, Math.max(2, text.split("\n").length));

export function saveBar(isDirty, isBlocked, save, ...more) {
  return h(
    "div",
    { key: "bar", class: "bar", role: "group", "aria-label": "Save" },
    h(
      "button",
      {
        type: "button",
        class: "main",
        disabled: !isDirty || Boolean(isBlocked),
        on: { click: save },
      },
      "Save",
    ),
    more,
    small(isDirty ? "Not saved yet." : "All is saved."),
  );
}
