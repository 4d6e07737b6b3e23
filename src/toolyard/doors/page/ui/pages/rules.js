// Rules: which calls wait for a person, and which are refused.

import { h } from "../lib/dom.js";
import { under } from "../lib/bits.js";
import { segment } from "../lib/store.js";
import { light } from "../lib/parts.js";
import { RecordPage } from "../lib/recordpage.js";
import { visible } from "../lib/words.js";
import { area, choice, field, textInput } from "../lib/editing.js";
import { NEW_RULE, TIERS, WAIT_SECONDS, bodyOf, conditionsOf, draftOf } from "../lib/rules.js";

const LEAD = "A rule makes calls wait until a person allows them, or refuses them outright.";
const SAYS = [
  ["ask", "Ask a person before each call"],
  ["refuse", "Refuse every call"],
];
const TOOLS_HELP =
  "One server, tool or pattern per line: git, git/push, */delete_*. !git/log is an exception. Empty for all.";
const TIER_HELP = "By the harm that they can do. A tool that says nothing counts as destroy.";
const ARGUMENTS_HELP =
  "One test per line, all of which must hold: path=/etc/* compares with a pattern, force:=true with a value.";
const MEMBERS_HELP = "One email address or pattern per line. Empty for everybody.";
const AGENTS_HELP = "One name or pattern per line. Empty for all.";
const SEVERAL = 2; // lines that a field for several shows

/** @type {import("../lib/recordpage.js").RecordKind} */
const KIND = {
  word: "rule",
  list: "rules",
  blank: NEW_RULE,
  draftOf,
  order: (draft) => ["PUT", `/rules/${segment(draft.name)}`, bodyOf(draft)],
  removal: "The calls that it stopped pass again.",
};

const effect = ({ says }) =>
  says === "refuse" ? light("disabled", "refuse") : light("waiting", "ask");

export function open(place) {
  const page = new RecordPage(place, KIND);

  const lines = (key, label, help) =>
    field(
      label,
      area(`rule-${key}`, page.draft[key], page.set(key), { rows: SEVERAL, class: "small" }),
      help,
    );

  function asked() {
    if (page.draft.says === "refuse") return null;
    return field(
      "Seconds to answer",
      textInput("rule-wait", page.draft.wait, page.set("wait"), {
        type: "number",
        min: 1,
        max: 3600,
        step: 1,
        placeholder: WAIT_SECONDS,
      }),
      "After that the call is refused.",
    );
  }

  function form() {
    const { draft } = page;
    return page.form(
      field("What happens", choice("rule-says", draft.says, SAYS, page.set("says"))),
      lines("tools", "Servers and tools", TOOLS_HELP),
      field("Tier", choice("rule-tier", draft.tier, TIERS, page.set("tier")), TIER_HELP),
      lines("arguments", "Arguments", ARGUMENTS_HELP),
      lines("members", "Members", MEMBERS_HELP),
      lines("agents", "Agents", AGENTS_HELP),
      field(
        "Reason",
        textInput("rule-reason", draft.reason, page.set("reason"), { maxlength: 500 }),
        "Shown to the person who is asked.",
      ),
      asked(),
    );
  }

  function conditions(rule) {
    if (rule.fault) return h("span", { class: "bad" }, visible(rule.fault));
    const told = conditionsOf(rule);
    return told.length ? told.map((words, at) => [at ? h("br", null) : null, visible(words)]) : "–";
  }

  function row(rule) {
    return h(
      "tr",
      { key: rule.name },
      h(
        "th",
        { scope: "row" },
        visible(rule.name),
        rule.reason ? under(visible(rule.reason)) : null,
      ),
      h("td", { "data-label": "Says" }, rule.fault ? light("failing", "damaged") : effect(rule)),
      h("td", { "data-label": "Tools" }, visible(rule.tools.join(", ")) || "all"),
      h("td", { "data-label": "If", class: "whole" }, conditions(rule)),
      page.actions(rule),
    );
  }

  const table = {
    titles: ["Rule", "Says", "Tools", "If"],
    rows: () => page.rows.map(row),
    none: "Calls of every tool that a client may use run at once.",
  };
  return () => page.draw(LEAD, form, table);
}
