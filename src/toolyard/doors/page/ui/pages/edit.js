// Edit a server: its entry in the servers file, in a form and as JSON.

import { h } from "../lib/dom.js";
import { crumbs, gone, looking, top } from "../lib/bits.js";
import { ask, order, refresh, segment } from "../lib/store.js";
import { button, complain, say } from "../lib/parts.js";
import { visible } from "../lib/words.js";
import { Draft, saveBar } from "../lib/draft.js";
import { ENTRY, entryForm, hideSecrets, secretChoice } from "../lib/entry.js";
import { serverPath } from "../lib/paths.js";

export function open(place) {
  const { alias } = place.params;
  const path = `/servers/${segment(alias)}`;
  const choices = { hasKeyring: false, inKeyring: true };
  let draft = null;
  let before = {}; // the entry as it was read
  let errors = [];
  let missing = null; // why it cannot be edited here
  let isChanged = false; // somebody else wrote it since

  async function load() {
    try {
      choices.hasKeyring = (await ask("/secrets")).keyring;
      before = (await ask(`${path}/entry`)).entry;
      draft = new Draft(before, { ...ENTRY, changed: place.redraw });
      isChanged = false;
      errors = [];
    } catch (error) {
      missing = error;
    }
    place.redraw();
  }

  async function save(isOver) {
    errors = [];
    try {
      const { entry: now } = await ask(`${path}/entry`);
      isChanged = !isOver && JSON.stringify(now) !== JSON.stringify(before);
      if (!isChanged) {
        const isHidden = choices.hasKeyring && choices.inKeyring;
        const entry = isHidden ? await hideSecrets(alias, draft.value) : draft.value;
        const removed = Object.keys(now).filter((key) => !(key in entry));
        const nulls = Object.fromEntries(removed.map((key) => [key, null]));
        await order("PUT", path, { ...nulls, ...entry });
        draft.isDirty = false;
        say(`${alias} was saved.`);
        refresh();
        place.go(`${serverPath(alias)}?start`);
        return;
      }
    } catch (error) {
      errors = error.errors || [];
      if (!errors.length) complain(error);
    }
    place.redraw();
  }

  function cancel() {
    draft.isDirty = false;
    place.go(serverPath(alias));
  }

  function clash() {
    if (!isChanged) return null;
    return h(
      "div",
      { key: "clash", class: "card waits", role: "alert" },
      h("p", { class: "title" }, "Somebody else changed this server since you opened it."),
      h(
        "p",
        { class: "row" },
        button("Look at theirs", load),
        button("Save mine over it", () => save(true), { class: "danger" }),
      ),
    );
  }

  place.askIf(() => Boolean(draft?.isDirty));
  load();
  return () => {
    if (missing) return gone(missing, serverPath(alias), `Go to ${visible(alias)}`);
    if (!draft) return looking();
    return [
      crumbs("/ui", "Servers", serverPath(alias), visible(alias)),
      top(`Edit ${visible(alias)}`, "Saved to the servers file; comments there stay."),
      clash(),
      h(
        "div",
        { key: "form", class: "two" },
        h(
          "div",
          { class: "card" },
          entryForm(draft, errors),
          secretChoice(draft.value, choices, place.redraw),
        ),
        h("div", { class: "card" }, draft.jsonField("entry-json")),
      ),
      saveBar(draft.isDirty, draft.wrong, () => save(false), button("Cancel", cancel)),
    ];
  };
}
