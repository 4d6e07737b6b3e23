// Something that is edited in a form and as JSON at once: whichever speaks, the other follows.

import { h } from "./dom.js";
import { visible } from "./words.js";
import { area, field, pretty } from "./editing.js";

export class Draft {
  // `read` makes the form of a value, `write` the value of a form.
  constructor(value, { read, write, changed }) {
    Object.assign(this, { read, write, changed, isDirty: false, wrong: "", form: read(value) });
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
      this.form = this.read(value);
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
