// Something that is edited in a form and as JSON at once: whichever speaks, the other follows.

import { h } from "./dom.js";
import { small } from "./bits.js";
import { visible } from "./words.js";
import { area, field, fromLines, fromList, pretty, toLines } from "./editing.js";

export class Draft {
  // `read` makes the form of a value, `write` the value of a form.
  constructor(value, { read, write, changed }, before) {
    Object.assign(this, { read, write, changed, isDirty: false, wrong: "", form: read(value, before) });
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
      if (value === null || typeof value !== "object" || Array.isArray(value)) throw new Error("this is no object");
      this.form = this.read(value, this.form);
      this.wrong = "";
    } catch (error) { this.wrong = error.message; }
    this.#touch();
  }

  #touch() {
    this.isDirty = true;
    this.changed();
  }

  asJson(id) {
    return h("details", { class: "json" }, h("summary", null, "As JSON"),
      field("The same as JSON", area(id, this.text, (text) => this.type(text), { class: "raw", rows: 14, "aria-invalid": this.wrong ? "true" : undefined, "aria-describedby": `${id}-wrong` })),
      h("p", { id: `${id}-wrong`, class: "bad" }, this.wrong ? `This cannot be read yet: ${visible(this.wrong)}. The form shows what could.` : ""));
  }
}

// A form of flags, lists and tables (both as lines of text) and plain values, and the JSON it stands for.
// Lists are [key, label, help], tables have their sign besides; `plain` says what is usual.
export function formOf({ flags = [], lists, tables, plain = {} }) {
  const known = new Set([...flags, ...Object.keys(plain), ...lists.map(([key]) => key), ...tables.map(([key]) => key)]);
  return {
    read(said) {
      const form = { rest: Object.fromEntries(Object.entries(said).filter(([key]) => !known.has(key))) };
      for (const key of flags) form[key] = said[key] !== false;
      for (const key of Object.keys(plain)) form[key] = said[key] || plain[key];
      for (const [key] of lists) form[key] = (said[key] || []).join("\n");
      for (const [key, , , sign] of tables) form[key] = toLines(said[key], sign);
      return form;
    },
    write(form) {
      const said = { ...form.rest };
      for (const key of [...flags, ...Object.keys(plain)]) said[key] = form[key];
      for (const [key] of lists) said[key] = fromList(form[key]);
      for (const [key, , , sign] of tables) said[key] = fromLines(form[key], sign);
      return said;
    },
  };
}

export function lineFields(draft, entries) {
  return entries.map(([key, label, help]) => field(label, area(key, draft.form[key], (text) => draft.edit((form) => { form[key] = text; }), {
    rows: rowsOf(draft.form[key]), class: "small",
  }), help));
}

export const rowsOf = (text) => Math.min(12, Math.max(2, text.split("\n").length));

export function saveBar(isDirty, isBlocked, save, ...more) {
  return h("div", { key: "bar", class: "bar", role: "group", "aria-label": "Save" },
    h("button", { type: "button", class: "main", disabled: !isDirty || Boolean(isBlocked), on: { click: save } }, "Save"), more,
    small(isDirty ? "Not saved yet." : "All is saved."));
}
