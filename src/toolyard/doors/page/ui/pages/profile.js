// One profile: what it shows and hides, in a form and as JSON.

import { h } from "../lib/dom.js";
import { crumbs, looking, quiet, sheet, tag, top, under } from "../lib/bits.js";
import { ask, order, segment, state } from "../lib/store.js";
import { button, complain, confirmed, run } from "../lib/parts.js";
import { count, short, tokens, visible } from "../lib/words.js";
import { choice, field, fromList, textInput } from "../lib/editing.js";
import { Draft, formOf, lineFields, saveBar } from "../lib/draft.js";

const LISTS = [
  [
    "allow",
    "Shows",
    "Names or patterns such as git, git/log or git__*, one a line; empty shows everything.",
  ],
  ["hide", "Hides", "One a line; wins over what is shown."],
  ["pin", "Lists even where tools are searched", "One a line."],
];
const TABLES = [
  ["rename", "Other names", "git/log = history, one a line.", " = "],
  ["describe", "Other descriptions", "git/log = What was committed, one a line.", " = "],
  [
    "environment",
    "Variables",
    "NAME=value, one a line; its programs then run for this profile alone.",
    "=",
  ],
];
const SHAPE = formOf({ lists: LISTS, tables: TABLES, plain: { title: "", settings: {} } });
const MOST = 300;
const PAUSE = 250;

function open(place) {
  const name = place.params.name;
  const path = `/profiles/${segment(name)}`;
  /** @type {any} */
  let draft = null;
  let isNew = false;
  let before = null; // the profile as it is saved
  let tools = [];
  let undo = null;
  let seen = null; // what it would offer
  let waiting = 0;
  let asked = 0; // how many previews were asked for: only the answer to the last one counts

  async function load() {
    try {
      const { name: _, path: __, ...body } = await ask(path);
      isNew = false;
      before = body;
    } catch (error) {
      if (error.status !== 404) {
        complain(error);
        return;
      }
      isNew = true;
      before = {};
    }
    draft = new Draft(before, { ...SHAPE, changed });
    look();
    draft.isDirty = isNew;
    place.redraw();
  }

  function changed() {
    place.redraw();
    clearTimeout(waiting);
    waiting = setTimeout(look, PAUSE);
  }

  // What it would offer, saved or not.
  async function look() {
    if (draft.wrong) return;
    asked += 1;
    const mine = asked;
    let found;
    try {
      found = await order("POST", `${path}/preview`, draft.value);
      found.names = new Map(found.tools.map((tool) => [`${tool.server}/${tool.tool}`, tool.name]));
    } catch (error) {
      found = { error };
    }
    if (mine === asked) seen = found;
    place.redraw();
  }

  async function put(body, words, after) {
    if (!(await run(words, "PUT", path, body))) return;
    undo = after;
    load();
  }

  function save() {
    const old = before;
    put(
      draft.value,
      "The profile is saved.",
      isNew ? null : () => put(old, "The profile is as it was.", null),
    );
  }

  async function remove() {
    if (
      !(await confirmed(
        `Delete the profile ${name}? Clients that use it get an error.`,
        "Delete it",
      ))
    )
      return;
    if (await run("The profile is deleted.", "DELETE", path)) place.go("/ui/profiles");
  }

  function addLine(key, line) {
    draft.edit((form) => {
      form[key] = [...new Set([...fromList(form[key]), line])].join("\n");
    });
  }

  function sum() {
    if (!seen) return looking();
    if (seen.error)
      return h(
        "p",
        { class: "bad" },
        visible([seen.error.message, seen.error.hint].filter(Boolean).join(". ")),
      );
    const verb = draft.isDirty ? "Would offer" : "Offers";
    const listed = `a client lists ${count(seen.listed, "tool")} with the hub's own`;
    const cost = `${tokens(seen.schema_tokens)} tokens of a model's context`;
    return h("p", null, `${verb} ${count(seen.tools.length, "tool")}; ${listed}, ${cost}.`);
  }

  function row(tool) {
    const line = `${tool.server}/${tool.tool}`;
    const name = seen?.names?.get(line);
    const offered = name ? `as ${visible(name)}` : "not offered";
    return h(
      "li",
      { key: line },
      h(
        "div",
        { class: "row spread" },
        h(
          "span",
          null,
          h("strong", { class: seen?.names && !name ? "quiet" : undefined }, visible(line)),
          seen?.names ? tag(offered) : null,
          under(short(tool.description, 100)),
        ),
        h(
          "span",
          { class: "row" },
          button("Show", () => addLine("allow", line), { "aria-label": `Show ${line}` }),
          button("Hide", () => addLine("hide", line), { "aria-label": `Hide ${line}` }),
        ),
      ),
    );
  }

  function names() {
    const known = tools.filter((tool) => tool.server);
    return sheet(
      "What it offers",
      h("div", { "aria-live": "polite" }, sum()),
      known.length
        ? h("ul", { class: "plain choose" }, known.slice(0, MOST).map(row))
        : quiet("No tool is known yet."),
      known.length > MOST ? quiet(`and ${known.length - MOST} more`) : null,
    );
  }

  place.onLeave(() => clearTimeout(waiting));
  ask("/tools").then((answer) => {
    tools = answer.tools;
    place.redraw();
  }, complain);
  load();

  return () => {
    if (!draft) return looking();
    const { form } = draft;
    const setting = (key, label, options) => {
      const change = (value) =>
        draft.edit((edited) => {
          const { [key]: _, ...rest } = edited.settings;
          edited.settings = value ? { ...rest, [key]: value } : rest;
        });
      return field(
        label,
        choice(key, form.settings[key] || "", [["", "as usual"], ...options], change),
      );
    };
    return [
      crumbs("/ui/profiles", "Profiles"),
      top(
        visible(name),
        quiet(
          isNew
            ? "Not saved yet."
            : [
                "Clients use ",
                h("code", null, `${state.status?.url || ""}/mcp/p/${visible(name)}`),
              ],
        ),
      ),
      h(
        "div",
        { key: "two", class: "two" },
        h(
          "section",
          { class: "card", "aria-label": "The profile" },
          field(
            "Title",
            textInput("title", form.title, (text) =>
              draft.edit((edited) => {
                edited.title = text;
              }),
            ),
          ),
          lineFields(draft, [...LISTS, ...TABLES]),
          h(
            "div",
            { class: "cols" },
            setting("expose", "Tools are", [
              ["all", "all listed"],
              ["search", "searched"],
            ]),
            setting("separator", "Between server and tool", [
              ["__", "__"],
              [".", "."],
              ["/", "/"],
            ]),
          ),
          draft.asJson("raw"),
        ),
        h("div", null, names()),
      ),
      saveBar(
        draft.isDirty,
        draft.wrong,
        save,
        draft.isDirty && !isNew ? button("Discard changes", load) : null,
        !draft.isDirty && undo ? button("Undo", undo) : null,
        !draft.isDirty ? button("Delete", remove, { class: "danger" }) : null,
      ),
    ];
  };
}

export const page = {
  path: "/ui/profiles/:name",
  title: (params) => `Profile ${params.name}`,
  open,
};
