// My tokens: what a member made for programs that cannot log in, a new one, and the end of an old one.

import { h } from "../lib/dom.js";
import { heads, looking, submit, top } from "../lib/bits.js";
import { ask, order, segment, state } from "../lib/store.js";
import { button, complain, confirmed, empty, say, time } from "../lib/parts.js";
import { exact, visible } from "../lib/words.js";
import { choice, field, textInput } from "../lib/editing.js";
import { copyable } from "../lib/copying.js";

const LEAD = "For programs that cannot log in. A token never opens more than you may use yourself.";
const NAME_HELP = "For what it is, for example a machine or a job. Letters, digits, _ . and -.";
const TIERS = [
  ["destroy", "Every tool"],
  ["write", "Tools that read or change, and destroy nothing"],
  ["read", "Tools that only read"],
];
const DAYS = [
  ["30", "30 days"],
  ["90", "90 days"],
  ["365", "A year"],
];
const BLANK = { name: "", profile: "", tier: "destroy", days: "90" };

export function open(place) {
  let tokens = null;
  let draft = null; // the token that is to be made
  let fresh = null; // the one that was, shown once
  let isBusy = false;

  async function load() {
    try {
      ({ tokens } = await ask("/my/tokens"));
    } catch (error) {
      if (state.isLetIn) complain(error);
    }
    place.redraw();
  }

  function edit(value) {
    draft = value;
    place.redraw();
  }

  async function create() {
    isBusy = true;
    place.redraw();
    try {
      fresh = await order("POST", "/my/tokens", { ...draft, days: Number(draft.days) });
      draft = null;
    } catch (error) {
      complain(error);
    }
    isBusy = false;
    load();
  }

  async function revoke(name) {
    const question = `Revoke the token ${name}? Its sessions end at once, and it lets nobody in again.`;
    if (!(await confirmed(question, "Revoke"))) return;
    try {
      await order("DELETE", `/my/tokens/${segment(name)}`);
      say(`The token ${name} is revoked.`);
      if (fresh?.name === name) fresh = null;
    } catch (error) {
      complain(error);
    }
    load();
  }

  function form() {
    const set = (key) => (value) => edit({ ...draft, [key]: value });
    const profiles = (state.me?.profiles || []).map((name) => [name, visible(name)]);
    return h(
      "form",
      { key: "form", class: "card column", "aria-label": "New token", on: { submit: create } },
      h("h2", null, "New token"),
      field(
        "Name",
        textInput("token-name", draft.name, set("name"), {
          pattern: "[A-Za-z0-9_][A-Za-z0-9_.\\-]{0,63}",
          required: true,
        }),
        NAME_HELP,
      ),
      field(
        "Opens",
        choice(
          "token-profile",
          draft.profile,
          [["", "All that you may use"], ...profiles],
          set("profile"),
        ),
      ),
      field("Tools", choice("token-tier", draft.tier, TIERS, set("tier"))),
      field("Good for", choice("token-days", draft.days, DAYS, set("days"))),
      h(
        "p",
        { class: "row" },
        submit("Create token", isBusy || !draft.name),
        button("Cancel", () => edit(null)),
      ),
    );
  }

  function shown() {
    return h(
      "section",
      { key: "fresh", class: "card waits", "aria-label": "The new token", role: "status" },
      h("h2", null, `The token ${visible(fresh.name)}`),
      copyable(fresh.token, "token"),
      h("p", null, "Store it now. It is not shown again."),
    );
  }

  function row(token) {
    return h(
      "tr",
      { key: token.name },
      h("th", { scope: "row" }, visible(token.name)),
      h(
        "td",
        { "data-label": "Opens" },
        token.profile
          ? `the profile ${visible(token.profile)}`
          : visible(token.servers.join(", ")) || "all that you may use",
      ),
      h("td", { "data-label": "Tools" }, token.tier === "destroy" ? "every" : visible(token.tier)),
      h("td", { "data-label": "Expires" }, token.expires_at ? exact(token.expires_at) : "Never"),
      h("td", { "data-label": "Last used" }, token.used_at ? time(token.used_at) : "Not yet"),
      h(
        "td",
        { class: "number" },
        button("Revoke", () => revoke(token.name), { "aria-label": `Revoke ${token.name}` }),
      ),
    );
  }

  function list() {
    if (!tokens) return looking();
    const words = "Clients that can log in need none.";
    if (!tokens.length) return draft || fresh ? null : empty("No tokens yet.", h("p", null, words));
    return h(
      "table",
      { class: "stack" },
      heads(["Token", "Opens", "Tools", "Expires", "Last used", ""]),
      h("tbody", null, tokens.map(row)),
    );
  }

  load();
  return () => [
    top(
      "My tokens",
      LEAD,
      draft ? null : button("New token", () => edit({ ...BLANK }), { class: "main" }),
    ),
    fresh ? shown() : null,
    draft ? form() : null,
    h("div", { key: "list" }, list()),
  ];
}
