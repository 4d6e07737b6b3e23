// Client quirks: what each client can take, how that is known, and what you set otherwise.

import { h } from "../lib/dom.js";
import { looking, quiet, small, submit, tag, top, under } from "../lib/bits.js";
import { ask, onPicture, order, segment } from "../lib/store.js";
import { button, complain, fold, light, say } from "../lib/parts.js";
import { count, visible, whole } from "../lib/words.js";
import { choice, field, textInput } from "../lib/editing.js";
import { marked } from "../lib/marked.js";

const LIMITS = [
  ["most_tools", "Tools in its list", "At least 10; 0 for no limit."],
  ["longest_name", "Characters of a tool's name", "At least 24; 0 for no limit."],
  ["largest_result", "Bytes of a result", "At least 2048; 0 for no limit."],
  ["longest_instructions", "Characters of instructions", "At least 1500; 0 for no limit."],
];
const SHORT = {
  most_tools: (limit) => `${whole(limit)} tools`,
  longest_name: (limit) => `${limit} characters in a name`,
  largest_result: (limit) => `${whole(limit)} bytes in a result`,
  longest_instructions: (limit) => `${whole(limit)} characters of instructions`,
};
const RELISTS = [
  ["", "As it is known"],
  ["true", "Yes"],
  ["false", "No"],
];

function limitsOf(client) {
  const words = [];
  for (const [key, spell] of Object.entries(SHORT)) if (client[key]) words.push(spell(client[key]));
  const most = words.length ? `At most ${words.join(", ")}.` : "No known limits.";
  return client.relists === false ? `${most} Reads the list of tools only once.` : most;
}

function connected(clients) {
  const sessions = clients.reduce((sum, { sessions: number }) => sum + number, 0);
  const left = clients.reduce((sum, { left_out: number }) => sum + number, 0);
  if (!clients.length) return null;
  return [
    light("ready", sessions ? count(sessions, "session") : "was here"),
    left ? h("span", { class: "under bad" }, `${count(left, "tool")} not listed to it`) : null,
  ];
}

export function open(place) {
  let answer = null;
  let draft = null; // the client that is edited, and what was typed

  async function load() {
    try {
      answer = await ask("/passports");
    } catch (error) {
      complain(error);
    }
    place.redraw();
  }

  function edit(client) {
    const set = (key) => (client.overridden.includes(key) ? String(client[key]) : "");
    draft = { name: client.name, relists: set("relists") };
    for (const [key] of LIMITS) draft[key] = set(key);
    place.redraw();
  }

  function close() {
    draft = null;
    place.redraw();
  }

  async function save() {
    const body = {};
    if (draft.relists) body.relists = draft.relists === "true";
    for (const [key] of LIMITS) if (draft[key] !== "") body[key] = Number(draft[key]);
    try {
      await order("PUT", `/passports/${segment(draft.name)}`, body);
      say("Saved. Its sessions see the effect at once.");
      draft = null;
    } catch (error) {
      complain(error);
    }
    load();
  }

  async function reset(name) {
    try {
      await order("DELETE", `/passports/${segment(name)}`);
      say("What you set is removed.");
      draft = null;
    } catch (error) {
      complain(error);
    }
    load();
  }

  function form(client) {
    const change = (key) => (value) => {
      draft[key] = value;
      place.redraw();
    };
    const usual = (key) => (client[key] ? whole(client[key]) : "no limit");
    return h(
      "form",
      { class: "column", "aria-label": `Limits of ${client.title}`, on: { submit: save } },
      field(
        "Reads its list again when told of a change",
        choice("quirk-relists", draft.relists, RELISTS, change("relists")),
      ),
      LIMITS.map(([key, label, help]) =>
        field(
          label,
          textInput(`quirk-${key}`, draft[key], change(key), {
            type: "number",
            min: "0",
            placeholder: usual(key),
          }),
          help,
        ),
      ),
      h(
        "p",
        { class: "row" },
        submit("Save"),
        button("Cancel", close),
        client.overridden.length
          ? button("Remove what I set", () => reset(client.name), { class: "danger" })
          : null,
      ),
    );
  }

  function facts(client) {
    if (!client.facts.length) return null;
    const fact = ({ field: key, proof, text }) =>
      h("li", { key }, h("code", null, key), " ", marked(text), tag(proof));
    return fold("How this is known", h("ul", { class: "plain" }, client.facts.map(fact)));
  }

  function row(client) {
    const isEdited = draft?.name === client.name;
    const set = client.overridden.length ? tag("changed by you") : null;
    return h(
      "li",
      { key: client.name, class: "card" },
      h(
        "div",
        { class: "row spread" },
        h(
          "div",
          null,
          h("strong", null, marked(client.title)),
          set,
          under(limitsOf(client), client.era ? ` Speaks ${visible(client.era)}.` : ""),
        ),
        h(
          "span",
          { class: "row" },
          connected(client.clients),
          isEdited
            ? null
            : button("Edit", () => edit(client), { "aria-label": `Edit ${client.title}` }),
        ),
      ),
      isEdited ? form(client) : facts(client),
    );
  }

  function strangers() {
    if (!answer.strangers.length) return null;
    const names = answer.strangers.map(({ name }) => visible(name) || "unnamed").join(", ");
    return quiet("Connected, but unknown to Toolyard: ", small(names));
  }

  // Those that are here, and those with something set, come first.
  const rank = (client) => Number(!client.clients.length) + Number(!client.overridden.length);
  onPicture(place, load);
  load();
  return () => [
    top(
      "Client quirks",
      "The limits of each client. The hub fits lists, names and results to them.",
    ),
    answer
      ? [
          strangers(),
          h(
            "ul",
            { key: "clients", class: "cards" },
            [...answer.passports].sort((a, b) => rank(a) - rank(b)).map(row),
          ),
        ]
      : looking(),
  ];
}
