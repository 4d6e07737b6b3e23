// A record that is edited here while others may write it too: followed, checked as one types, and
// saved only over what was read.

import { button, complain, say } from "./parts.js";
import { Draft, saveBar } from "./draft.js";
import { clash, readRecord, writeRecord } from "./records.js";

const drafts = new Map(); // what was typed and not saved stays, also when one looks elsewhere
const PAUSE = 250; // a check for each letter would be in the way of the next

addEventListener("beforeunload", (event) => {
  if (drafts.size) event.preventDefault();
});

export class Kept {
  /** @type {any} */
  draft = null;
  /** @type {any} */
  row = null; // the record as it was read
  version = "";
  isThere = true;
  conflict = false;
  /** @type {(() => void) | null} */
  undo = null;
  /** @type {any} */
  said = { errors: [], warnings: [] }; // what `check` answered last
  #checks = 0; // how many were asked for: only the answer to the last one counts
  #waiting = 0;

  /**
   * @param {import("../pages/index.js").Place} place
   * @param {string} path
   * @param {{read: Function, write: Function}} shape
   * @param {(value: any) => Promise<any>} check
   * @param {object} [options]
   * @param {(row: any) => any} [options.of] finds in a record what is edited
   * @param {any} [options.none] stands for a record that is not there
   * @param {() => Promise<boolean>} [options.has] says whether it is there: a browser complains of
   *   every record that was asked for in vain
   */
  constructor(place, path, shape, check, options = {}) {
    const { of = (row) => row, none = null, has = async () => true } = options;
    this.place = place;
    this.path = path;
    this.shape = shape;
    this.check = check;
    this.of = of;
    this.none = none;
    this.has = has;
    place.onLeave(() => this.end());
  }

  end() {
    clearTimeout(this.#waiting);
    this.#checks = Number.NEGATIVE_INFINITY;
  }

  async #read() {
    const nothing = { value: this.none, version: '"0"', isNone: true };
    if (!(await this.has())) return nothing;
    try {
      return { ...(await readRecord(this.path)), isNone: false };
    } catch (error) {
      if (error.status !== 404 || !this.none) throw error;
      return nothing;
    }
  }

  async load() {
    const record = await this.#read();
    const kept = drafts.get(this.path);
    this.#adopt(record);
    if (!kept) return;
    Object.assign(this, kept);
    this.draft.changed = () => this.#touch();
  }

  // What others write is shown at once, unless something is being written here.
  async follow() {
    if (!this.draft || this.draft.isDirty) return;
    const record = await this.#read();
    if (this.draft.isDirty) return;
    if (
      record.version !== this.version ||
      JSON.stringify(record.value) !== JSON.stringify(this.row)
    ) {
      this.#adopt(record);
      this.place.redraw();
    }
    this.look();
  }

  #adopt({ value, version, isNone }) {
    const draft = new Draft(
      this.of(value),
      { ...this.shape, changed: () => this.#touch() },
      this.draft?.form,
    );
    Object.assign(this, { row: value, version, isThere: !isNone, draft, conflict: false });
  }

  #touch() {
    this.undo = null;
    drafts.set(this.path, { draft: this.draft, version: this.version });
    this.place.redraw();
    this.look();
  }

  // Ask shortly what is to be said of the draft.
  look() {
    clearTimeout(this.#waiting);
    this.#waiting = setTimeout(async () => {
      if (this.draft.wrong) return;
      this.#checks += 1;
      const mine = this.#checks;
      try {
        const said = await this.check(this.draft.value);
        if (mine === this.#checks) this.said = said;
      } catch (error) {
        complain(error);
      }
      this.place.redraw();
    }, PAUSE);
  }

  // What was answered; null if somebody else wrote it since, or it was refused.
  async save(isOver, query = "") {
    let written = null;
    try {
      written = await writeRecord(
        "PUT",
        this.path + query,
        this.draft.value,
        isOver ? "" : this.version,
      );
      drafts.delete(this.path);
      await this.load();
    } catch (error) {
      if (error.status === 412) this.conflict = true;
      else {
        if (error.errors?.length) this.said = { ...this.said, errors: error.errors };
        complain(error);
      }
    }
    this.place.redraw();
    return written?.value;
  }

  async discard() {
    const { draft } = this;
    drafts.delete(this.path);
    try {
      await this.load();
    } catch (error) {
      complain(error);
    }
    this.look();
    say("What was not saved is gone.");
    this.undo = () => {
      this.draft = draft;
      this.#touch();
    };
    this.place.redraw();
  }

  clash(what, save) {
    if (!this.conflict) return null;
    return clash(
      `Somebody else changed this ${what} since you read it.`,
      () => this.discard(),
      () => save(true),
    );
  }

  bar(isBlocked, save, ...more) {
    const { isDirty, wrong } = this.draft;
    return saveBar(
      isDirty,
      wrong || isBlocked,
      () => save(false),
      isDirty ? button("Discard changes", () => this.discard()) : null,
      this.undo ? button("Undo", this.undo) : null,
      more,
    );
  }
}
