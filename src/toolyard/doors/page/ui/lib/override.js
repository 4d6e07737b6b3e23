// The override of an agent's list for one executor: servers changed, added or left out there.

import { h } from "./dom.js";
import { small } from "./bits.js";
import { ask, order, segment } from "./store.js";
import { button, complain, say } from "./parts.js";
import { choice, faults, field } from "./editing.js";
import { OUT, OVERRIDE, newServer } from "./lists.js";
import { addEntry, entries } from "./entries.js";
import { Kept } from "./kept.js";
import { writeRecord } from "./records.js";
import { count, visible } from "./words.js";

const GIVEN = [
  ["", "same as the default"],
  ["true", "yes"],
  ["false", "no"],
];

export function overrideEditor(place, base, executor, query, saved) {
  const has = async () => (await ask(base)).overrides.includes(executor);
  const path = `${base}/overrides/${segment(executor)}`;
  const check = (value) => order("POST", `${base}/validate${query}&override=true`, value);
  const kept = new Kept(place, path, OVERRIDE, check, { none: { servers: {} }, has });
  let isOpen = null; // decided when it is first drawn; folding it is the reader's matter then

  async function save(over) {
    if (!(await kept.save(over))) return;
    say(`Saved for ${executor}.`);
    saved();
  }

  async function reset() {
    const before = kept.row;
    try {
      await writeRecord("DELETE", kept.path, undefined, kept.version);
      say(`${executor} uses the default again.`);
      await kept.load();
      kept.undo = async () => {
        kept.undo = null;
        try {
          await writeRecord("PUT", kept.path, before, kept.version);
          await kept.load();
        } catch (error) {
          complain(error);
        }
        saved();
      };
    } catch (error) {
      complain(error);
    }
    saved();
  }

  const change = (server) =>
    kept.draft.edit(({ servers }) => servers.push(newServer(server.name, null)));

  function orders(where) {
    const { draft, said } = kept;
    if (!draft.isDirty)
      return kept.isThere ? button("Use the default", reset, { class: "danger" }) : null;
    const isBlocked = Boolean(draft.wrong || said.errors.length);
    return [
      button(`Save for ${where}`, () => save(false), { class: "main", disabled: isBlocked }),
      button("Discard", () => kept.discard(), {
        "aria-label": `Discard what was changed for ${where}`,
      }),
    ];
  }

  function draw(list) {
    if (!kept.draft) return null;
    const { draft, said } = kept;
    const rest = list.servers.filter(
      (server) => !draft.form.servers.some((other) => other.name === server.name),
    );
    const differs = draft.form.servers.length + (draft.form.enabled ? 1 : 0);
    const where = visible(executor);
    // One that is left out is changed from how it is in the list.
    for (const server of draft.form.servers) {
      const listed = list.servers.find((other) => other.name === server.name);
      if (server.type === "out") Object.assign(server, listed, { key: server.key, type: "out" });
    }
    isOpen ??= kept.isThere || draft.isDirty;
    return h(
      "details",
      { class: "card", key: `override ${executor}`, open: isOpen },
      h(
        "summary",
        null,
        h("strong", null, `On ${where}: `),
        small(differs ? count(differs, "override") : "same as the default"),
      ),
      kept.clash("override", save),
      h(
        "div",
        null,
        field(
          "Gets servers",
          choice("override-enabled", draft.form.enabled, GIVEN, (value) =>
            draft.edit((form) => {
              form.enabled = value;
            }),
          ),
        ),
        entries(draft, said.errors, [OUT], "Same as the default"),
      ),
      h(
        "p",
        { class: "row" },
        rest.map((server) =>
          button(`Change ${visible(server.name)} on ${where}`, () => change(server)),
        ),
        button(`Add a server on ${where} only`, () => addEntry(draft, "stdio")),
      ),
      h(
        "ul",
        { class: "plain findings", "aria-live": "polite" },
        faults(said.errors, "error"),
        faults(said.warnings, "warning"),
      ),
      draft.asJson("override"),
      h(
        "p",
        { class: "row" },
        orders(where),
        kept.undo ? button("Undo", kept.undo, { "aria-label": `Undo for ${where}` }) : null,
      ),
    );
  }

  return {
    draw,
    load: () => kept.load(),
    follow: () => kept.follow(),
    end: () => kept.end(),
  };
}
