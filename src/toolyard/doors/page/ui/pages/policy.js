// The policy of one executor: presets, a form and JSON in step, and whose plans would change.

import { h } from "../lib/dom.js";
import { crumbs, gone, looking, quiet, sheet, small, top } from "../lib/bits.js";
import { onPicture, order, segment, state } from "../lib/store.js";
import { button, complain, confirmed, link, say } from "../lib/parts.js";
import { count, visible } from "../lib/words.js";
import { check as checkbox, faults, fromLines, toLines } from "../lib/editing.js";
import { formOf, lineFields } from "../lib/draft.js";
import { Kept } from "../lib/kept.js";
import { writeRecord } from "../lib/records.js";
import { agentPath } from "../lib/paths.js";
import { ownerWords } from "../lib/plan.js";

const FLAGS = [
  ["allow_stdio", "stdio"],
  ["allow_http", "http"],
  ["allow_sse", "sse"],
  ["allow_streamable_http", "streamable_http"],
];
const LISTS = [
  [
    "allow",
    "Only these servers",
    "Names or patterns such as git*, one per line; empty allows all.",
  ],
  ["deny", "Never these servers", "One per line; wins over the list above."],
  ["env_override", "Servers whose own variables win", "One per line."],
];
const TABLES = [
  [
    "http_url_rewrite",
    "Rewritten addresses",
    "localhost -> host.docker.internal, one per line.",
    " -> ",
  ],
  ["env_injection", "Variables set for every server", "NAME=value, one per line.", "="],
];
const DOCKER = { localhost: "host.docker.internal", "127.0.0.1": "host.docker.internal" };

const PRESETS = [
  [
    "Only HTTP and SSE",
    (form) =>
      Object.assign(form, {
        allow_stdio: false,
        allow_http: true,
        allow_sse: true,
        allow_streamable_http: true,
      }),
  ],
  [
    "Only stdio",
    (form) =>
      Object.assign(form, {
        allow_stdio: true,
        allow_http: false,
        allow_sse: false,
        allow_streamable_http: false,
      }),
  ],
  [
    "Only servers named here",
    (form) => {
      form.allow =
        form.allow || (state.status?.servers || []).map((server) => server.alias).join("\n");
    },
  ],
  [
    "Rewrite localhost for Docker",
    (form) => {
      form.http_url_rewrite = toLines(
        { ...fromLines(form.http_url_rewrite, " -> "), ...DOCKER },
        " -> ",
      );
    },
  ],
];

const SHAPE = formOf({
  flags: [...FLAGS.map(([key]) => key), "stdio_proxy"],
  lists: LISTS,
  tables: TABLES,
});

export function open(place) {
  const executor = place.params.executor;
  const path = `/policies/${segment(executor)}`;
  let missing = null;

  /** @param {any} value @returns {Promise<{errors: any[]}>} */
  async function check(value) {
    if (!kept.draft.isDirty) return { errors: [] };
    try {
      return { ...(await order("POST", `${path}/preview`, value)), errors: [] };
    } catch (error) {
      if (error.errors?.length) return { errors: error.errors };
      return { errors: [{ server: "", field: "", text: error.message, hint: error.hint }] };
    }
  }

  const kept = new Kept(place, path, SHAPE, check, { of: (row) => row.policy });

  async function load() {
    try {
      await kept.load();
    } catch (error) {
      if (error.status === 404) missing = error;
      else complain(error);
    }
    place.redraw();
  }

  async function save(over) {
    const before = kept.row;
    if (!(await kept.save(over))) return;
    say("The policy is saved.");
    kept.undo = () => restore(before);
    place.redraw();
  }

  async function restore(before) {
    kept.undo = null;
    try {
      if (before.policy_of === executor)
        await writeRecord("PUT", path, before.policy, kept.version);
      else await writeRecord("DELETE", path, undefined, kept.version);
      say("The policy is as it was.");
    } catch (error) {
      complain(error);
    }
    load();
  }

  async function reset() {
    const before = kept.row;
    try {
      const found = await order("POST", `${path}/preview?reset=true`, {});
      const who = found.changes.length
        ? `This changes the plans of ${count(found.changes.length, "agent")}.`
        : "No plan changes.";
      if (!(await confirmed(`Remove the policy of ${executor}? ${who}`, "Remove it"))) return;
      await writeRecord("DELETE", path, undefined, kept.version);
      say("The policy is removed.");
      kept.undo = () => restore(before);
    } catch (error) {
      complain(error);
    }
    load();
  }

  const flag = (key, words) =>
    checkbox(words, kept.draft.form[key], (on) =>
      kept.draft.edit((form) => {
        form[key] = on;
      }),
    );

  function editor() {
    const { draft } = kept;
    return sheet(
      "The policy",
      h(
        "div",
        { class: "row", role: "group", "aria-label": "Presets" },
        small("Presets:"),
        PRESETS.map(([words, apply]) => button(words, () => draft.edit(apply))),
      ),
      h(
        "fieldset",
        { class: "plainset" },
        h("legend", null, "Allowed transports"),
        FLAGS.map(([key, words]) => flag(key, words)),
      ),
      h(
        "fieldset",
        { class: "plainset" },
        h("legend", null, "Proxy"),
        flag("stdio_proxy", "Let sessions share a stdio server through the hub"),
      ),
      lineFields(draft, [...LISTS.slice(0, 2), ...TABLES, LISTS[2]]),
      draft.asJson("raw"),
    );
  }

  function changeRow(change) {
    const part = (words, names) =>
      names.length
        ? h("span", null, `${words} `, h("strong", null, visible(names.join(", "))))
        : null;
    const parts = [
      part("gains", change.gained),
      part("loses", change.lost),
      part("gets changed settings for", change.changed),
    ].filter(Boolean);
    return h(
      "li",
      { key: `${change.agent} ${change.executor}` },
      link(
        `${agentPath(change.agent)}?executor=${segment(change.executor)}`,
        visible(change.agent),
      ),
      ` on ${visible(change.executor)} `,
      parts.map((part, at) => [at ? "; " : "", part]),
    );
  }

  function aside() {
    const {
      draft: { isDirty },
      said: { changes, errors },
    } = kept;
    return h(
      "section",
      { class: "card", "aria-label": "Changed plans", "aria-live": "polite" },
      h("h2", null, "Changed plans"),
      !isDirty
        ? quiet(
            "Edit the policy to see here which agents would gain or lose servers. Nothing changes before you save.",
          )
        : null,
      isDirty && changes && !changes.length ? h("p", null, "No agent's plan changes.") : null,
      isDirty && changes?.length ? h("ul", { class: "plain" }, changes.map(changeRow)) : null,
      errors.length ? h("ul", { class: "plain findings" }, faults(errors, "error")) : null,
    );
  }

  onPicture(place, () => kept.follow().catch(() => {}));
  load();

  return () => {
    if (missing) return gone(missing, "/ui/policies", "See all policies");
    if (!kept.draft) return looking();
    const { row } = kept;
    return [
      crumbs("/ui/policies", "Policies"),
      top(visible(executor), `Type: ${visible(row.kind)}. Policy: ${visible(ownerWords(row))}.`),
      kept.clash("policy", save),
      h("div", { key: "two", class: "two agent" }, editor(), h("div", null, aside())),
      kept.bar(
        kept.said.errors.length,
        save,
        !kept.draft.isDirty && row.policy_of === executor
          ? button("Remove it", reset, { class: "danger" })
          : null,
      ),
    ];
  };
}
