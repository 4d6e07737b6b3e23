// What differs for an agent with one executor: servers changed, added or left out there.

import { h } from "./dom.js";
import { tag } from "./bits.js";
import { ask, order, segment } from "./store.js";
import { button, complain, say } from "./parts.js";
import { choice, faults, field } from "./editing.js";
import { OUT, OVERRIDE, newServer } from "./lists.js";
import { addEntry, entries } from "./entries.js";
import { Kept } from "./kept.js";
import { writeRecord } from "./records.js";
import { count, visible } from "./words.js";

const GIVEN = [["", "as in the list"], ["true", "yes"], ["false", "no"]];

export function otherwise(place, base, executor, query, saved) {
  const has = async () => (await ask(base)).overrides.includes(executor);
  const kept = new Kept(place, `${base}/overrides/${segment(executor)}`, OVERRIDE, (value) => order("POST", `${base}/validate${query}&override=true`, value), { none: { servers: {} }, has });

  async function save(over) {
    if (!await kept.save(over)) return;
    say(`Saved for ${executor}.`);
    saved();
  }

  async function reset() {
    const before = kept.row;
    try {
      await writeRecord("DELETE", kept.path, undefined, kept.version);
      say(`${executor} is as everywhere.`);
      await kept.load();
      kept.undo = async () => {
        kept.undo = null;
        try { await writeRecord("PUT", kept.path, before, kept.version); await kept.load(); } catch (error) { complain(error); }
        saved();
      };
    } catch (error) { complain(error); }
    saved();
  }

  const change = (server) => kept.draft.edit(({ servers }) => servers.push(newServer(server.name, null)));

  kept.draw = (list) => {
    if (!kept.draft) return null;
    const { draft, said } = kept;
    const rest = list.servers.filter((each) => !draft.form.servers.some((other) => other.name === each.name));
    const differs = draft.form.servers.length + (draft.form.enabled ? 1 : 0);
    const where = visible(executor);
    // One that is left out is changed from how it is in the list.
    for (const server of draft.form.servers) {
      if (server.type === "out") Object.assign(server, list.servers.find((each) => each.name === server.name), { key: server.key, type: "out" });
    }
    kept.isOpen ??= kept.isThere || draft.isDirty;
    return h("details", { class: "card", key: `otherwise ${executor}`, open: kept.isOpen }, h("summary", null, h("strong", null, `Otherwise on ${where}`), tag(differs ? count(differs, "difference") : "nothing differs")),
      kept.clash("difference", save),
      h("div", null, field("Given servers there", choice("otherwise-enabled", draft.form.enabled, GIVEN, (value) => draft.edit((form) => { form.enabled = value; }))),
        entries(draft, said.errors, [OUT], "No difference")),
      h("p", { class: "row" }, rest.map((server) => button(`Change ${visible(server.name)} there`, () => change(server))), button("Add one only there", () => addEntry(draft, "stdio"))),
      h("ul", { class: "plain findings", "aria-live": "polite" }, faults(said.errors, "error"), faults(said.warnings, "warning")),
      draft.asJson("otherwise"),
      h("p", { class: "row" },
        draft.isDirty ? [button(`Save for ${where}`, () => save(false), { class: "main", disabled: Boolean(draft.wrong || said.errors.length) }), button("Discard", () => kept.discard(), { "aria-label": `Discard what was changed for ${where}` })]
          : kept.isThere ? button("Let nothing differ", reset, { class: "danger" }) : null,
        kept.undo ? button("Undo", kept.undo, { "aria-label": `Undo for ${where}` }) : null));
  };
  return kept;
}
