// Add a server by a form, or a copy of one that is there.

import { h } from "../lib/dom.js";
import { looking, quiet, submit } from "../lib/bits.js";
import { ask, order, refresh, segment, state } from "../lib/store.js";
import { complain, say } from "../lib/parts.js";
import { visible } from "../lib/words.js";
import { field, textInput } from "../lib/editing.js";
import { Draft } from "../lib/draft.js";
import { ENTRY, entryForm, hideSecrets, secretChoice } from "../lib/entry.js";
import { ways } from "../lib/ways.js";
import { serverPath } from "../lib/paths.js";

const NAME = "[A-Za-z0-9_.\\-]{1,64}";

function freeName(like) {
  const names = new Set((state.status?.servers || []).map((server) => server.alias));
  let number = 2;
  while (names.has(`${like}-${number}`)) number += 1;
  return `${like}-${number}`;
}

export function open(place) {
  const like = new URLSearchParams(location.search).get("like") || "";
  const choices = { hasKeyring: false, inKeyring: true };
  let name = "";
  let draft = null;
  let errors = [];
  let isBusy = false;

  async function load() {
    let entry = {};
    try {
      choices.hasKeyring = (await ask("/secrets")).keyring;
      if (like) ({ entry } = await ask(`/servers/${segment(like)}/entry`));
      if (like) name = freeName(like);
    } catch (error) {
      complain(error);
    }
    draft = new Draft(entry, { ...ENTRY, changed: place.redraw });
    place.redraw();
  }

  async function add() {
    isBusy = true;
    errors = [];
    place.redraw();
    try {
      const isHidden = choices.hasKeyring && choices.inKeyring;
      const entry = isHidden ? await hideSecrets(name, draft.value) : draft.value;
      await order("POST", "/servers", { name, entry, like });
      draft.isDirty = false;
      say(`${name} was added.`);
      refresh();
      place.go(serverPath(name));
      return;
    } catch (error) {
      errors = error.errors || [];
      if (!errors.length) complain(error);
    }
    isBusy = false;
    place.redraw();
  }

  function rename(text) {
    name = text;
    place.redraw();
  }

  function form() {
    const { way, command, url } = draft.form;
    const isEmpty = !(way === "url" ? url : command).trim();
    const input = textInput("name", name, rename, {
      required: true,
      pattern: NAME,
      placeholder: "files",
      autofocus: true,
    });
    return h(
      "form",
      { class: "two", on: { submit: add } },
      h(
        "div",
        { class: "card" },
        like ? quiet(`A copy of ${visible(like)}, with its secrets.`) : null,
        field("Name", input, "Letters, digits, - _ and . Its tools are listed under it."),
        entryForm(draft, errors),
        secretChoice(draft.value, choices, place.redraw),
        h(
          "p",
          { class: "row" },
          submit(
            isBusy ? "Adding …" : "Add it",
            Boolean(isBusy || !name || isEmpty || draft.wrong),
          ),
          quiet("It starts at once."),
        ),
      ),
      h("div", { class: "card" }, draft.jsonField("entry-json")),
    );
  }

  place.askIf(() => Boolean(draft?.isDirty));
  load();
  return () => [ways("/ui/add"), draft ? form() : looking()];
}
