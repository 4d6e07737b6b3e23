// Groups: which group of people gets which profiles.

import { h } from "../lib/dom.js";
import { heads, looking, submit, top } from "../lib/bits.js";
import { ask, onPicture, order, segment, state } from "../lib/store.js";
import { button, complain, confirmed, empty, link, say } from "../lib/parts.js";
import { TIERS, limitsOf } from "../lib/admissions.js";
import { visible, whole } from "../lib/words.js";
import { check, choice, field, textInput } from "../lib/editing.js";
import { profilePath } from "../lib/paths.js";

const LEAD = "An admission gives a group of people profiles. The groups are those of your issuer.";
const HELP = "As the issuer writes it. * is everybody who logs in.";
const SESSIONS_HELP = "That one member may have at a time. Empty for no limit of its own.";
const INSTANCES_HELP =
  "That may run for the sessions of one member. Empty for no limit of its own.";
const MOST = 10000;
const titleOf = (group) => (group === "*" ? "Everybody who logs in" : visible(group));

export function open(place) {
  let admissions = null;
  let profiles = [];
  let members = [];
  let draft = null; // the admission that is made or changed
  let isBusy = false;

  async function load() {
    try {
      const answers = await Promise.all([ask("/admissions"), ask("/profiles"), ask("/members")]);
      admissions = answers[0].admissions;
      profiles = answers[1].profiles;
      members = answers[2].members;
    } catch (error) {
      if (state.isLetIn) complain(error);
    }
    place.redraw();
  }

  function edit(value) {
    draft = value;
    place.redraw();
  }

  async function save() {
    isBusy = true;
    place.redraw();
    try {
      const { profiles: chosen, tier, sessions, instances } = draft;
      const body = { profiles: chosen, tier, sessions: +sessions || 0, instances: +instances || 0 };
      await order("PUT", `/admissions/${segment(draft.group)}`, body);
      say(`${titleOf(draft.group)}: admitted to ${draft.profiles.join(", ")}.`);
      draft = null;
    } catch (error) {
      complain(error);
    }
    isBusy = false;
    load();
  }

  async function remove({ group }) {
    const question = `Admit ${titleOf(group)} no longer? What its members have open by that ends at once.`;
    if (!(await confirmed(question, "Remove admission"))) return;
    try {
      await order("DELETE", `/admissions/${segment(group)}`);
      say(`${titleOf(group)} is admitted no longer.`);
    } catch (error) {
      complain(error);
    }
    load();
  }

  function toggle(name, isOn) {
    const others = draft.profiles.filter((profile) => profile !== name);
    edit({ ...draft, profiles: isOn ? [...others, name] : others });
  }

  function choose() {
    if (!profiles.length)
      return h(
        "p",
        null,
        "There are no profiles yet. ",
        link("/ui/profiles#profile-name", "Make one"),
        " first.",
      );
    return h(
      "fieldset",
      { class: "plainset" },
      h("legend", null, "Profiles"),
      profiles.map(({ name }) =>
        h(
          "div",
          { key: name },
          check(visible(name), draft.profiles.includes(name), (isOn) => toggle(name, isOn)),
        ),
      ),
    );
  }

  // The groups that people have been seen with, and that nobody has admitted.
  function unadmitted() {
    const known = new Set(admissions.map(({ group }) => group));
    return [...new Set(members.flatMap((member) => member.groups))].filter((g) => !known.has(g));
  }

  const number = (label, key, help) =>
    field(
      label,
      textInput(`admission-${key}`, draft[key] || "", (value) => edit({ ...draft, [key]: value }), {
        type: "number",
        min: 0,
        max: MOST,
        step: 1,
        inputmode: "numeric",
      }),
      help,
    );

  function form() {
    return h(
      "form",
      { key: "form", class: "card column", "aria-label": "Admission", on: { submit: save } },
      h("h2", null, draft.isNew ? "Admit a group" : `Admission of ${titleOf(draft.group)}`),
      draft.isNew
        ? field(
            "Group",
            textInput("group", draft.group, (group) => edit({ ...draft, group }), {
              required: true,
              maxlength: 255,
              list: "groups-seen",
            }),
            HELP,
          )
        : null,
      draft.isNew
        ? h(
            "datalist",
            { id: "groups-seen" },
            unadmitted().map((group) => h("option", { key: group, value: group })),
          )
        : null,
      choose(),
      field(
        "Tools",
        choice("admission-tier", draft.tier, TIERS, (tier) => edit({ ...draft, tier })),
        "Of these profiles, by the harm that they can do.",
      ),
      number("Sessions", "sessions", SESSIONS_HELP),
      number("Running servers", "instances", INSTANCES_HELP),
      h(
        "p",
        { class: "row" },
        submit("Save admission", isBusy || !draft.group || !draft.profiles.length),
        button("Cancel", () => edit(null)),
      ),
    );
  }

  function row(admission) {
    const { group } = admission;
    const those = members.filter((member) => group === "*" || member.groups.includes(group));
    return h(
      "tr",
      { key: group },
      h("th", { scope: "row" }, titleOf(group)),
      h(
        "td",
        { "data-label": "Profiles" },
        admission.profiles.map((name, at) => [
          at ? ", " : null,
          link(profilePath(name), visible(name)),
        ]),
      ),
      h("td", { "data-label": "Limits" }, limitsOf(admission)),
      h("td", { "data-label": "Members", class: "number" }, whole(those.length)),
      h(
        "td",
        { class: "number" },
        h(
          "span",
          { class: "row" },
          button("Edit", () => edit({ ...admission }), {
            "aria-label": `Edit the admission of ${titleOf(group)}`,
          }),
          button("Remove", () => remove(admission), {
            class: "danger",
            "aria-label": `Remove the admission of ${titleOf(group)}`,
          }),
        ),
      ),
    );
  }

  function list() {
    if (!admissions) return looking();
    const words = "Without one, nobody but keepers is let in by their own name.";
    if (!admissions.length)
      return draft ? null : empty("No group is admitted.", h("p", null, words));
    return h(
      "table",
      { class: "stack" },
      heads(["Group", "Profiles", "Limits", "Members", ""], "Members"),
      h("tbody", null, admissions.map(row)),
    );
  }

  const begin = () => edit({ isNew: true, group: "", profiles: [], tier: "destroy" });
  onPicture(place, load);
  load();
  return () => [
    top("Groups", LEAD, draft ? null : button("Admit a group", begin, { class: "main" })),
    draft ? form() : null,
    h("div", { key: "list" }, list()),
  ];
}
