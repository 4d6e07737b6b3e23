// One profile: the tools it shows, chosen from those of the yard; what a client would see is
// counted while it is edited.

import { h } from "../lib/dom.js";
import { crumbs, looking, quiet, sheet, top } from "../lib/bits.js";
import { ask, order, segment, state } from "../lib/store.js";
import { button, complain, confirmed, run } from "../lib/parts.js";
import { count, tokens, visible } from "../lib/words.js";
import { choice, field, fromList, textInput } from "../lib/editing.js";
import { Draft, formOf, lineFields, saveBar } from "../lib/draft.js";
import { ToolPicker, groupsOf } from "../lib/toolpicker.js";

const ALLOW = ["allow", "Shows", "git, git/log or git__*; one per line."];
const HIDE = ["hide", "Hides", "Wins over what is shown; !git/log makes an exception. One a line."];
const PIN = ["pin", "Always lists", "Also where tools are searched. One a line."];
const ENVIRONMENT = [
  "environment",
  "Variables",
  "NAME=value, one per line. Programs then run for the clients of this profile alone.",
  "=",
];
const LINES = formOf({
  lists: [ALLOW, HIDE, PIN],
  tables: [ENVIRONMENT],
  plain: { title: "", settings: {}, rename: {}, describe: {} },
});
// An empty list shows everything, so whether only what is ticked counts is told apart from it.
const SHAPE = {
  read(value) {
    for (const key of ["rename", "describe", "settings"])
      if (typeof (value[key] ?? {}) !== "object") throw new Error(`"${key}" is no object`);
    const form = LINES.read(value);
    return { ...form, isOnly: form.allow !== "" };
  },
  write({ isOnly, ...form }) {
    return LINES.write(isOnly ? form : { ...form, allow: "" });
  },
};
/** @type {[boolean, string, string][]} */
const SCOPES = [
  [false, "Everything except what I untick", "Servers and tools that are added later are shown."],
  [
    true,
    "Only what I tick",
    "What is added later stays hidden, except new tools of a server that is ticked as a whole.",
  ],
];
const PAUSE = 250;
const MOST = 10_000;

export function open(place) {
  const name = place.params.name;
  const path = `/profiles/${segment(name)}`;
  const picker = new ToolPicker(place);
  /** @type {any} */
  let draft = null;
  let isNew = false;
  let before = null; // the profile as it is saved
  let tools = [];
  let numbers = ""; // how many of them each server has
  let undo = null;
  let seen = null; // what it would offer
  let names = new Map(); // the names that clients see, by server and tool
  let isTyped = false; // a new one is not saved yet, but nothing is lost with it
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
    isTyped = false;
    place.redraw();
  }

  // The tools of the yard, asked for again when a server has others.
  function followTools() {
    const now = (state.status?.servers || []).map(({ alias, tools }) => `${alias} ${tools}`).join();
    if (now === numbers) return;
    numbers = now;
    ask(`/tools?limit=${MOST}`).then((answer) => {
      tools = answer.tools.filter((tool) => tool.server);
      place.redraw();
      look();
    }, complain);
  }

  function changed() {
    isTyped = true;
    place.redraw();
    clearTimeout(waiting);
    waiting = setTimeout(look, PAUSE);
  }

  const isNothing = () => draft.form.isOnly && !fromList(draft.form.allow).length;

  // What it would offer, saved or not.
  async function look() {
    if (draft.wrong || isNothing()) return;
    asked += 1;
    const mine = asked;
    let answer;
    try {
      answer = await order("POST", `${path}/preview`, draft.value);
    } catch (error) {
      answer = { error };
    }
    if (mine !== asked) return;
    seen = answer;
    if (answer.tools)
      names = new Map(answer.tools.map((tool) => [`${tool.server}/${tool.tool}`, tool.name]));
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

  const edit = (key) => (value) =>
    draft.edit((form) => {
      form[key] = value;
    });

  // At first, what is shown stays shown: all servers are ticked as a whole.
  function setScope(isOnly) {
    const servers = state.status?.servers.filter((server) => server.enabled) || [];
    draft.edit((form) => {
      form.isOnly = isOnly;
      if (isOnly && !form.allow) form.allow = servers.map((server) => server.alias).join("\n");
    });
  }

  function scope([value, words, help]) {
    const id = value ? "scope-only" : "scope-all";
    return h(
      "div",
      { class: "option" },
      h("input", {
        type: "radio",
        name: "scope",
        id,
        checked: draft.form.isOnly === value,
        "aria-describedby": `${id}-help`,
        on: { change: () => setScope(value) },
      }),
      h(
        "div",
        null,
        h("label", { for: id }, words),
        h("p", { id: `${id}-help`, class: "help" }, help),
      ),
    );
  }

  function choosing() {
    const { form } = draft;
    const groups = groupsOf(state.status?.servers || [], tools, form.settings.separator || "");
    return sheet(
      "Tools",
      h(
        "fieldset",
        { class: "plainset" },
        h("legend", { class: "skip" }, "Which tools it shows"),
        SCOPES.map(scope),
      ),
      picker.draw(draft, groups, names),
      h(
        "details",
        { key: "patterns" },
        h("summary", null, "Patterns"),
        quiet("What you tick is written here; names and patterns can be typed, too."),
        lineFields(draft, form.isOnly ? [ALLOW, HIDE, PIN] : [HIDE, PIN]),
      ),
    );
  }

  function setting(key, label, options, help) {
    const { settings } = draft.form;
    const change = (value) => {
      const { [key]: _, ...rest } = settings;
      edit("settings")(value ? { ...rest, [key]: value } : rest);
    };
    const all = [["", "as set for the hub"], ...options];
    return field(label, choice(key, settings[key] || "", all, change), help);
  }

  function more() {
    return h(
      "details",
      { key: "more", class: "card" },
      h("summary", { class: "title" }, "Names, search and variables"),
      setting(
        "expose",
        "Clients get tools",
        [
          ["all", "as one list"],
          ["search", "by searching"],
        ],
        "Searching saves tokens: only tools that are always listed are in the list.",
      ),
      setting("separator", "Between server and tool", [
        ["__", "git__log"],
        [".", "git.log"],
        ["/", "git/log"],
      ]),
      lineFields(draft, [ENVIRONMENT]),
    );
  }

  // What a client with this profile has, in one sentence that is read out when it changes.
  function sum() {
    if (isNothing()) return h("span", { class: "bad" }, "Tick at least one tool.");
    if (!seen) return "Counting …";
    if (seen.error)
      return h(
        "span",
        { class: "bad" },
        visible([seen.error.message, seen.error.hint].filter(Boolean).join(". ")),
      );
    const cost = `${tokens(seen.schema_tokens)} tokens`;
    const number = seen.tools.length;
    if (seen.listed < number)
      return `A client finds ${count(number, "tool")} and lists ${seen.listed}: ${cost}.`;
    const all = Math.max(number, tools.length); // those of the yard may not be here yet
    return `A client sees ${number} of ${count(all, "tool")}: ${cost} with the hub's own.`;
  }

  place.onLeave(() => clearTimeout(waiting));
  place.askIf(() => isTyped && draft.isDirty);
  load();

  return () => {
    if (!draft) return looking();
    followTools();
    const address = `${state.status?.url || ""}/mcp/p/${visible(name)}`;
    return [
      crumbs("/ui/profiles", "Profiles"),
      top(visible(name), isNew ? "Not saved yet." : ["Clients use ", h("code", null, address)]),
      h(
        "div",
        { key: "form", class: "column" },
        sheet(
          "About",
          field(
            "Title",
            textInput("title", draft.form.title, edit("title")),
            "For people; optional.",
          ),
        ),
        choosing(),
        more(),
        draft.asJson("raw"),
        saveBar(
          draft.isDirty,
          draft.wrong || isNothing(),
          save,
          draft.isDirty && !isNew ? button("Discard changes", load) : null,
          !draft.isDirty && undo ? button("Undo", undo) : null,
          !draft.isDirty ? button("Delete", remove, { class: "danger" }) : null,
          h("span", { class: "sum", role: "status" }, sum()),
        ),
      ),
    ];
  };
}
