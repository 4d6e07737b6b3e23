// Secrets: their names, where they are kept and who uses them; a value goes in and never comes out.

import { h } from "../lib/dom.js";
import { heads, looking, submit, top, under } from "../lib/bits.js";
import { ask, onPicture, order, segment } from "../lib/store.js";
import { button, complain, confirmed, empty, light, link, say } from "../lib/parts.js";
import { visible } from "../lib/words.js";
import { field, textInput } from "../lib/editing.js";
import { serverPath } from "../lib/paths.js";

const PLACES = {
  keyring: () => light("ready", "in the keyring"),
  file: () => light("ready", "in a file"),
  missing: () => light("failing", "missing"),
};
const NAME_HELP = "Letters, digits, _ . and -, for example GITHUB_TOKEN.";

export function open(place) {
  let answer = null;
  let draft = null; // the name and value that are typed
  let isBusy = false;

  async function load() {
    try {
      answer = await ask("/secrets");
    } catch (error) {
      complain(error);
    }
    place.redraw();
  }

  function begin(name, isNew) {
    draft = name === null ? null : { name, value: "", isNew };
    place.redraw();
  }

  async function put() {
    const { name, value } = draft;
    isBusy = true;
    place.redraw();
    try {
      await order("PUT", `/secrets/${segment(name)}`, { value, or_file: !answer.keyring });
      draft = null;
      say(`${name} is set.`);
    } catch (error) {
      complain(error);
    }
    isBusy = false;
    load();
  }

  async function remove({ name, used_by: users }) {
    const effect = users.length ? ` ${users.join(", ")} will not start without it.` : "";
    if (!(await confirmed(`Remove ${name} and its value?${effect}`, "Remove"))) return;
    try {
      await order("DELETE", `/secrets/${segment(name)}`);
      say(`${name} is removed.`);
    } catch (error) {
      complain(error);
    }
    load();
  }

  function form() {
    const change = (key) => (value) => {
      draft[key] = value;
      place.redraw();
    };
    return h(
      "form",
      { key: "form", class: "card column", "aria-label": "Secret", on: { submit: put } },
      h("h2", null, draft.isNew ? "New secret" : `Set ${visible(draft.name)}`),
      draft.isNew
        ? field("Name", textInput("secret-name", draft.name, change("name")), NAME_HELP)
        : null,
      field(
        "Value",
        textInput("secret-value", draft.value, change("value"), {
          type: "password",
          autocomplete: "new-password",
        }),
        answer.keyring
          ? "Goes into the keyring of this machine, and is never shown."
          : "This machine has no keyring: it goes into a private file, and is never shown.",
      ),
      h(
        "p",
        { class: "row" },
        submit("Set secret", isBusy || !draft.name || !draft.value),
        button("Cancel", () => begin(null)),
      ),
    );
  }

  function row(secret) {
    const { name, reference, place: kept, used_by: users, problem } = secret;
    // A path names a file that is nobody's secret but a server's own.
    const isOurs = !name.includes("/");
    return h(
      "tr",
      { key: reference },
      h("th", { scope: "row" }, visible(name), under(h("code", null, visible(reference)))),
      h("td", { "data-label": "Kept" }, PLACES[kept](), problem ? under(visible(problem)) : null),
      h(
        "td",
        { "data-label": "Used by" },
        users.length
          ? users.map((user, at) => [at ? ", " : "", link(serverPath(user), visible(user))])
          : "–",
      ),
      h(
        "td",
        { class: "number" },
        isOurs
          ? button(kept === "missing" ? "Set" : "Change", () => begin(name, false), {
              "aria-label": `Set ${name}`,
            })
          : null,
        " ",
        isOurs && kept !== "missing"
          ? button("Remove", () => remove(secret), { "aria-label": `Remove ${name}` })
          : null,
      ),
    );
  }

  function list() {
    if (!answer) return looking();
    if (!answer.secrets.length) {
      const words = "Set one, and write its reference where a server's entry needs the value.";
      return draft ? null : empty("No secrets yet.", h("p", null, words));
    }
    return h(
      "table",
      { class: "stack" },
      heads(["Secret", "Kept", "Used by", ""]),
      h("tbody", null, answer.secrets.map(row)),
    );
  }

  onPicture(place, load);
  load();
  return () => [
    top(
      "Secrets",
      "Values are never shown, logged or written into an entry.",
      answer && !draft ? button("New secret", () => begin("", true), { class: "main" }) : null,
    ),
    draft ? form() : null,
    h("div", { key: "list" }, list()),
  ];
}
