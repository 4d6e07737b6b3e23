// Members: the people who come in by their own name, their role, and the end of their access.

import { h } from "../lib/dom.js";
import { heads, looking, tag, top, under } from "../lib/bits.js";
import { ask, onPicture, order, segment, state } from "../lib/store.js";
import { button, complain, confirmed, empty, light, link, say, time } from "../lib/parts.js";
import { visible } from "../lib/words.js";
import { choice } from "../lib/editing.js";
import { memberPath } from "../lib/paths.js";

const ROLES = [
  ["member", "Member"],
  ["keeper", "Keeper"],
];
const LEAD =
  "People who come in by their own name. Members use what their groups are admitted to; keepers may change the hub, too.";

const nameOf = (member) => member.email || member.name || member.subject;

export function open(place) {
  let members = null;
  let hasIssuer = true;

  async function load() {
    try {
      const [answer, settings] = await Promise.all([ask("/members"), ask("/settings")]);
      ({ members } = answer);
      hasIssuer = settings.settings.some(({ name, value }) => name === "issuer" && value);
    } catch (error) {
      if (state.isLetIn) complain(error);
    }
    place.redraw();
  }

  async function change(member, body, words) {
    try {
      await order("PUT", `/members/${segment(member.key)}`, body);
      say(words);
    } catch (error) {
      complain(error);
    }
    load();
  }

  async function setRole(member, role) {
    const name = nameOf(member);
    const question = `Make ${name} a keeper? Keepers may change everything about this hub, people included.`;
    if (role === "keeper" && !(await confirmed(question, "Make a keeper"))) return load();
    return change(member, { role }, `${name} is a ${role}.`);
  }

  async function disable(member) {
    const name = nameOf(member);
    const question = `Disable ${name}? Everything they have open ends at once, and they cannot log in until you enable them.`;
    if (!(await confirmed(question, "Disable"))) return;
    await change(member, { disabled: true }, `${name} is disabled.`);
  }

  async function remove(member) {
    const name = nameOf(member);
    const question = `Remove ${name}? Everything they have open ends at once. If an admission still lets them in, they can log in again as a new member.`;
    if (!(await confirmed(question, "Remove"))) return;
    try {
      await order("DELETE", `/members/${segment(member.key)}`);
      say(`${name} was removed.`);
    } catch (error) {
      complain(error);
    }
    load();
  }

  function actions(member) {
    const name = nameOf(member);
    return h(
      "span",
      { class: "row" },
      member.disabled
        ? button("Enable", () => change(member, { disabled: false }, `${name} may log in again.`), {
            "aria-label": `Enable ${name}`,
          })
        : button("Disable", () => disable(member), { "aria-label": `Disable ${name}` }),
      button("Remove", () => remove(member), {
        class: "danger",
        "aria-label": `Remove ${name}`,
      }),
    );
  }

  function standing(member) {
    if (member.disabled) return light("disabled", "disabled");
    const isIn = member.profiles.length || member.role === "keeper";
    return isIn ? light("ready", "admitted") : light("waiting", "not admitted");
  }

  function row(member) {
    const name = nameOf(member);
    const isMe = member.key === state.me?.key;
    return h(
      "tr",
      { key: member.key },
      h(
        "th",
        { scope: "row" },
        link(memberPath(member.key), visible(name)),
        isMe ? tag("you") : null,
        under(visible(member.name && member.name !== name ? member.name : member.subject)),
      ),
      h(
        "td",
        { "data-label": "Role" },
        choice(`role-${member.key}`, member.role, ROLES, (role) => setRole(member, role), {
          "aria-label": `Role of ${name}`,
        }),
      ),
      h(
        "td",
        { "data-label": "Groups" },
        visible(member.groups.join(", ")) || "–",
        member.profiles.length ? under(`gets ${visible(member.profiles.join(", "))}`) : null,
      ),
      h("td", { "data-label": "State" }, standing(member)),
      h("td", { "data-label": "Last seen" }, member.last_used ? time(member.last_used) : "Not yet"),
      h("td", { class: "number" }, actions(member)),
    );
  }

  function list() {
    if (!members) return looking();
    if (!members.length) return nobody();
    return h(
      "table",
      { class: "stack" },
      heads(["Member", "Role", "Groups", "State", "Last seen", ""]),
      h("tbody", null, members.map(row)),
    );
  }

  function nobody() {
    if (!hasIssuer)
      return empty(
        "Nobody comes in by their own name.",
        h(
          "p",
          null,
          "Start the hub with ",
          h("code", null, "TOOLYARD_ISSUER"),
          " to let people log in with your OpenID provider.",
        ),
      );
    return empty(
      "No members yet.",
      h(
        "p",
        null,
        "People become members when they first log in, if one of their ",
        link("/ui/access/groups", "groups"),
        " is admitted.",
      ),
    );
  }

  onPicture(place, load);
  load();
  return () => [top("Members", LEAD), h("div", { key: "list" }, list())];
}
