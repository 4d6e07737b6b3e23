// A page of records: a list, and a form in which one of them is made or edited. What is saved or
// removed is what was read; what others wrote meanwhile is not lost.

import { h } from "./dom.js";
import { heads, looking, submit, top } from "./bits.js";
import { askExactly, onPicture, segment, state } from "./store.js";
import { button, complain, confirmed, empty, say } from "./parts.js";
import { clash, writeRecord } from "./records.js";
import { field, textInput } from "./editing.js";
import { visible } from "./words.js";

const NOT_THERE = "0"; // the version of a record that nobody has written

/**
 * @typedef {object} RecordKind
 * @property {string} word for one of them, such as "rule"
 * @property {string} list the name of all of them in the answer, and in the control API
 * @property {any} blank a new one as its form holds it
 * @property {(row: any) => any} draftOf one of the list as its form holds it
 * @property {(draft: any) => [string, string, any]} order the method, path and body that write it
 * @property {string} [removal] says what comes of removing one
 */

export class RecordPage {
  /** @type {any} */
  answer = null;
  /** @type {any} */
  draft = null; // the record that is made or edited
  #isBusy = false;
  #isClash = false;

  /** @param {import("../pages/index.js").Place} place @param {RecordKind} kind */
  constructor(place, kind) {
    this.place = place;
    this.kind = kind;
    onPicture(place, () => this.load());
    this.load();
  }

  /** @returns {any[]} */
  get rows() {
    return this.answer?.[this.kind.list] || [];
  }

  async load() {
    try {
      this.answer = await askExactly("GET", `/${this.kind.list}`);
    } catch (error) {
      if (state.isLetIn) complain(error);
    }
    this.place.redraw();
  }

  edit(draft) {
    this.draft = draft;
    this.place.redraw();
  }

  #open(draft) {
    this.#isClash = false;
    this.edit(draft);
  }

  set(key) {
    return (value) => this.edit({ ...this.draft, [key]: value });
  }

  async #save(isOver = false) {
    const { name, version } = this.draft;
    this.#isBusy = true;
    this.place.redraw();
    try {
      const [method, path, body] = this.kind.order(this.draft);
      await writeRecord(method, path, body, isOver ? "" : `"${version}"`);
      say(`The ${this.kind.word} ${name} holds from the next call on.`);
      this.#open(null);
    } catch (error) {
      this.#isClash = error.status === 412;
      if (!this.#isClash) complain(error);
    }
    this.#isBusy = false;
    this.load();
  }

  async #remove({ name, version }) {
    const { word, list, removal = "" } = this.kind;
    if (!(await confirmed(`Remove the ${word} ${name}? ${removal}`.trim(), "Remove"))) return;
    try {
      await writeRecord("DELETE", `/${list}/${segment(name)}`, undefined, `"${version}"`);
      say(`The ${word} ${name} was removed.`);
    } catch (error) {
      complain(error);
    }
    this.load();
  }

  // Give up what is typed for what somebody else wrote.
  async #lookAtTheirs() {
    const { name } = this.draft;
    await this.load();
    const row = this.rows.find((other) => other.name === name);
    if (!row) say(`Somebody else removed the ${this.kind.word} ${name}.`);
    this.#open(row ? this.kind.draftOf(row) : null);
  }

  #clash() {
    const { word } = this.kind;
    const title = this.draft.isNew
      ? `There is a ${word} of this name already.`
      : `Somebody else changed this ${word} since you read it.`;
    return clash(
      title,
      () => this.#lookAtTheirs(),
      () => this.#save(true),
    );
  }

  #name() {
    const { word } = this.kind;
    const attrs = { required: true, maxlength: 64, pattern: "[A-Za-z0-9][A-Za-z0-9._\\-]*" };
    return field(
      "Name",
      textInput(`${word}-name`, this.draft.name, this.set("name"), attrs),
      "Letters, digits, dots, underscores and hyphens.",
    );
  }

  /** @param {import("./dom.js").Kid[]} fields */
  form(...fields) {
    const { word } = this.kind;
    const title = this.draft.isNew
      ? `New ${word}`
      : `${word[0].toUpperCase()}${word.slice(1)} ${visible(this.draft.name)}`;
    return h(
      "form",
      {
        key: "form",
        class: "card column",
        "aria-label": title,
        on: { submit: () => this.#save() },
      },
      h("h2", null, title),
      this.draft.isNew ? this.#name() : null,
      fields,
      this.#isClash ? this.#clash() : null,
      h(
        "p",
        { class: "row" },
        submit(`Save ${word}`, this.#isBusy || !this.draft.name),
        button("Cancel", () => this.#open(null)),
      ),
    );
  }

  // The last cell of a record's row.
  actions(row) {
    const { word, draftOf } = this.kind;
    return h(
      "td",
      { class: "number" },
      h(
        "span",
        { class: "row" },
        row.fault
          ? null
          : button("Edit", () => this.#open(draftOf(row)), {
              "aria-label": `Edit the ${word} ${row.name}`,
            }),
        button("Remove", () => this.#remove(row), {
          class: "danger",
          "aria-label": `Remove the ${word} ${row.name}`,
        }),
      ),
    );
  }

  /**
   * @param {string} lead
   * @param {() => import("./dom.js").Kid} form
   * @param {{titles: string[], rows: () => import("./dom.js").Kid[], none: string}} table
   */
  draw(lead, form, table) {
    const { word, list, blank } = this.kind;
    const begin = () => this.#open({ ...blank, isNew: true, version: NOT_THERE });
    return [
      top(
        `${list[0].toUpperCase()}${list.slice(1)}`,
        lead,
        this.draft ? null : button(`New ${word}`, begin, { class: "main" }),
      ),
      this.draft ? form() : null,
      h("div", { key: "list" }, this.#list(table)),
    ];
  }

  #list({ titles, rows, none }) {
    if (!this.answer) return looking();
    if (!this.rows.length)
      return this.draft ? null : empty(`There are no ${this.kind.list}.`, h("p", null, none));
    return h("table", { class: "stack" }, heads([...titles, ""]), h("tbody", null, rows()));
  }
}
