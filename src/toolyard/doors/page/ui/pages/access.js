// Tokens: who is let in with one, what it opens, a new one, and the end of an old one.

import { h } from "../lib/dom.js";
import { heads, looking, submit, top, under } from "../lib/bits.js";
import { ask, onPicture, order, segment, state } from "../lib/store.js";
import { button, complain, confirmed, empty, link, say, time } from "../lib/parts.js";
import { exact, visible } from "../lib/words.js";
import { choice, field, textInput } from "../lib/editing.js";
import { copyable } from "../lib/copying.js";

const KINDS = [
  ["yard", "Every server"],
  ["profile", "A profile"],
  ["agent", "The servers of an agent"],
  ["servers", "Some servers"],
  ["discovers", "The list of announced servers, and nothing else"],
];
const NAME_HELP = "For whom it is, for example a client or a machine. Letters, digits, _ . and -.";
const LEAD =
  "A token lets a client in, to MCP alone. It is kept as a hash: nobody can read it back.";
const BLANK = { name: "", kind: "yard", profile: "", agent: "", servers: [] };

function opens({ servers, profile, agent, executor, discovers }) {
  if (discovers) return "the list of announced servers";
  const where = executor ? under(`on ${visible(executor)}`) : null;
  if (agent) return ["the servers of ", visible(agent), where];
  if (profile) return ["the profile ", link(`/ui/profiles/${segment(profile)}`, visible(profile))];
  return servers.length ? visible(servers.join(", ")) : "every server";
}

// What the API is told; of what may be chosen, only what was.
function body({ name, kind, profile, agent, servers }) {
  const limits = { profile: { profile }, agent: { agent }, servers: { servers } };
  return { name, ...(kind === "discovers" ? { discovers: true } : limits[kind]) };
}

const isComplete = (draft) => draft.name && (draft[draft.kind] ?? "-").length > 0;

export function open(place) {
  let tokens = null;
  let profiles = [];
  let agents = [];
  let draft = null; // the token that is to be made
  let fresh = null; // the one that was, shown once
  let isBusy = false;

  async function load() {
    try {
      const answers = await Promise.all([ask("/tokens"), ask("/profiles"), ask("/agents")]);
      tokens = answers[0].tokens;
      profiles = answers[1].profiles;
      agents = answers[2].agents;
    } catch (error) {
      complain(error);
    }
    place.redraw();
  }

  function change(key, value) {
    draft[key] = value;
    place.redraw();
  }

  function begin(value) {
    draft = value;
    fresh = null;
    place.redraw();
  }

  async function create() {
    isBusy = true;
    place.redraw();
    try {
      fresh = await order("POST", "/tokens", body(draft));
      draft = null;
    } catch (error) {
      complain(error);
    }
    isBusy = false;
    load();
  }

  async function revoke({ name, member }) {
    const question = `Revoke the token ${name}? Its sessions end at once, and it lets nobody in again.`;
    if (!(await confirmed(question, "Revoke"))) return;
    try {
      const whose = member ? `?member=${segment(member)}` : "";
      await order("DELETE", `/tokens/${segment(name)}${whose}`);
      say(`The token ${name} is revoked.`);
      if (fresh?.name === name) fresh = null;
    } catch (error) {
      complain(error);
    }
    load();
  }

  function limit() {
    const among = (key, names, label) =>
      field(
        label,
        choice(`token-${key}`, draft[key], [["", "Choose …"], ...names], (value) =>
          change(key, value),
        ),
      );
    if (draft.kind === "profile")
      return among(
        "profile",
        profiles.map(({ name }) => [name, visible(name)]),
        "Profile",
      );
    if (draft.kind === "agent")
      return among(
        "agent",
        agents.map(({ id, title }) => [id, visible(title)]),
        "Agent",
      );
    return draft.kind === "servers" ? serverBoxes() : null;
  }

  function serverBoxes() {
    const set = (alias, isOn) =>
      change(
        "servers",
        isOn ? [...draft.servers, alias] : draft.servers.filter((name) => name !== alias),
      );
    return h(
      "fieldset",
      { class: "plainset" },
      h("legend", null, "Servers"),
      (state.status?.servers || []).map(({ alias }) =>
        h(
          "label",
          { class: "check", key: alias },
          h("input", {
            type: "checkbox",
            checked: draft.servers.includes(alias),
            on: { change: (event) => set(alias, event.target.checked) },
          }),
          ` ${visible(alias)}`,
        ),
      ),
    );
  }

  function form() {
    return h(
      "form",
      { key: "form", class: "card column", "aria-label": "New token", on: { submit: create } },
      h("h2", null, "New token"),
      field(
        "Name",
        textInput("token-name", draft.name, (value) => change("name", value), {
          pattern: "[A-Za-z0-9_][A-Za-z0-9_.\\-]{0,63}",
          required: true,
        }),
        NAME_HELP,
      ),
      field(
        "Opens",
        choice("token-kind", draft.kind, KINDS, (value) => change("kind", value)),
      ),
      limit(),
      h(
        "p",
        { class: "row" },
        submit("Create token", isBusy || !isComplete(draft)),
        button("Cancel", () => begin(null)),
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
      { key: `${token.member} ${token.name}` },
      h(
        "th",
        { scope: "row" },
        visible(token.name),
        token.member ? under(`of ${visible(token.member)}`) : null,
      ),
      h(
        "td",
        { "data-label": "Opens" },
        opens(token),
        token.member ? under("of what the member may use") : null,
        token.tier === "destroy" ? null : under(`tools of the tier ${token.tier}`),
      ),
      h("td", { "data-label": "Created" }, time(token.created_at)),
      h("td", { "data-label": "Expires" }, token.expires_at ? exact(token.expires_at) : "Never"),
      h("td", { "data-label": "Last used" }, token.used_at ? time(token.used_at) : "Not yet"),
      h(
        "td",
        { class: "number" },
        button("Revoke", () => revoke(token), { "aria-label": `Revoke ${token.name}` }),
      ),
    );
  }

  function list() {
    if (!tokens) return looking();
    const words = "Clients on this machine need none. Create one for a client on another machine.";
    if (!tokens.length) return draft || fresh ? null : empty("No tokens yet.", h("p", null, words));
    return h(
      "table",
      { class: "stack" },
      heads(["Token", "Opens", "Created", "Expires", "Last used", ""]),
      h("tbody", null, tokens.map(row)),
    );
  }

  onPicture(place, load);
  load();
  return () => [
    top(
      "Tokens",
      LEAD,
      draft ? null : button("New token", () => begin({ ...BLANK }), { class: "main" }),
    ),
    fresh ? shown() : null,
    draft ? form() : null,
    h("div", { key: "list" }, list()),
  ];
}
