// One profile: what it shows and hides, in a form and as JSON.

import { h } from "../lib/dom.js";
import { ask, order, refresh, segment, state } from "../lib/store.js";
import { button, complain, confirmed, link, say } from "../lib/parts.js";
import { short, visible } from "../lib/words.js";
import { area, choice, field, fromLines, fromList, textInput, toLines } from "../lib/editing.js";
import { Draft } from "../lib/draft.js";

const LISTS = [
  ["allow", "Shows", "Names or patterns such as git, git/log or git__*, one a line; empty shows everything."],
  ["hide", "Hides", "One a line; wins over what is shown."],
  ["pin", "Lists even where tools are searched", "One a line."],
];
const TABLES = [
  ["rename", "Other names", "git/log = history, one a line.", " = "],
  ["describe", "Other descriptions", "git/log = What was committed, one a line.", " = "],
  ["environment", "Variables", "NAME=value, one a line; for servers that run for this profile alone.", "="],
];
const FIELDS = ["title", "settings", ...LISTS.map(([key]) => key), ...TABLES.map(([key]) => key)];
const MOST = 300;

function readForm(said) {
  const form = { title: said.title || "", settings: said.settings || {} };
  for (const [key] of LISTS) form[key] = (said[key] || []).join("\n");
  for (const [key, , , sign] of TABLES) form[key] = toLines(said[key], sign);
  form.rest = Object.fromEntries(Object.entries(said).filter(([key]) => !FIELDS.includes(key)));
  return form;
}

const trimmed = (table) => Object.fromEntries(Object.entries(table).map(([key, value]) => [key, value.trim()]));

function writeForm(form) {
  const said = { ...form.rest, title: form.title };
  for (const [key] of LISTS) said[key] = fromList(form[key]);
  for (const [key, , , sign] of TABLES) said[key] = sign === "=" ? fromLines(form[key]) : trimmed(fromLines(form[key]));
  said.settings = form.settings;
  return said;
}

function open(place) {
  const name = place.params.name;
  const path = `/profiles/${segment(name)}`;
  let draft = null, isNew = false, before = null, tools = [], undo = null;

  async function load() {
    try {
      const { name: _, path: __, ...body } = await ask(path);
      isNew = false;
      before = body;
    } catch (error) {
      if (error.status !== 404) { complain(error); return; }
      isNew = true;
      before = {};
    }
    draft = new Draft(before, { read: readForm, write: writeForm, changed: place.redraw });
    draft.isDirty = isNew;
    place.redraw();
  }

  async function put(body, words, after) {
    try {
      await order("PUT", path, body);
      say(words);
      undo = after;
      refresh();
      await load();
    } catch (error) { complain(error); }
  }

  function save() {
    const old = before;
    put(draft.value, "The profile is saved.", isNew ? null : () => put(old, "The profile is as it was.", null));
  }

  async function remove() {
    if (!await confirmed(`Delete the profile ${name}? Clients that use it get an error.`, "Delete it")) return;
    try {
      await order("DELETE", path);
      say("The profile is deleted.");
      refresh();
      place.go("/ui/profiles");
    } catch (error) { complain(error); }
  }

  function put1(key, line) {
    draft.edit((form) => { form[key] = [...new Set([...fromList(form[key]), line])].join("\n"); });
  }

  function names() {
    const known = tools.filter((tool) => tool.server).slice(0, MOST);
    return h("section", { class: "card", "aria-label": "Names to choose from" }, h("h2", null, "Names to choose from"), known.length ? h("ul", { class: "plain choose" }, known.map((tool) => {
      const line = `${tool.server}/${tool.tool}`;
      return h("li", { key: line }, h("div", { class: "row spread" }, h("span", null, h("strong", null, visible(line)), h("span", { class: "quiet under" }, short(tool.description, 100))),
        h("span", { class: "row" }, button("Show", () => put1("allow", line), { "aria-label": `Show ${line}` }), button("Hide", () => put1("hide", line), { "aria-label": `Hide ${line}` }))));
    })) : h("p", { class: "quiet" }, "No tool is known yet."));
  }

  ask("/tools").then((answer) => { tools = answer.tools; place.redraw(); }, complain);
  load();

  return () => {
    if (!draft) return h("p", { class: "quiet" }, "Looking …");
    const { form } = draft;
    const set = (key) => (text) => draft.edit((each) => { each[key] = text; });
    const lines = ([key, label, help]) => field(label, area(key, form[key], set(key), { rows: Math.min(10, Math.max(2, form[key].split("\n").length)), class: "small" }), help);
    const setting = (key, label, options) => field(label, choice(key, form.settings[key] || "", [["", "as usual"], ...options], (value) => draft.edit((each) => {
      const { [key]: _, ...rest } = each.settings;
      each.settings = value ? { ...rest, [key]: value } : rest;
    })));
    return [
      h("p", { class: "crumbs" }, link("/ui/profiles", "Profiles")),
      h("div", { class: "top" }, h("h1", null, visible(name)), h("p", { class: "quiet" }, isNew ? "Not saved yet." : ["Clients use ", h("code", null, `${state.status?.url || ""}/mcp/p/${visible(name)}`)])),
      h("div", { key: "two", class: "two" },
        h("section", { class: "card", "aria-label": "The profile" },
          field("Title", textInput("title", form.title, set("title"))), LISTS.map(lines), TABLES.map(lines),
          h("div", { class: "cols" }, setting("expose", "Tools are", [["all", "all listed"], ["search", "searched"]]), setting("separator", "Between server and tool", [["__", "__"], [".", "."], ["/", "/"]])),
          draft.asJson("raw")),
        h("div", null, names())),
      h("div", { key: "bar", class: "bar", role: "group", "aria-label": "Save" },
        h("button", { type: "button", class: "main", disabled: !draft.isDirty || Boolean(draft.wrong), on: { click: save } }, "Save"),
        draft.isDirty && !isNew ? button("Discard changes", load) : null,
        !draft.isDirty && undo ? button("Undo", undo) : null,
        !draft.isDirty ? button("Delete", remove, { class: "danger" }) : null,
        h("span", { class: "quiet" }, draft.isDirty ? "Not saved yet." : "All is saved.")),
    ];
  };
}

export const page = { path: "/ui/profiles/:name", title: (params) => `Profile ${params.name}`, open };
