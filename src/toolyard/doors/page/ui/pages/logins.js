// Logins: at which servers with an address somebody is logged in, until when, and the way in and out.
// Below them those that members have of their own.

import { h } from "../lib/dom.js";
import { heads, looking, sheet, top, under } from "../lib/bits.js";
import { ask, onPicture, order, segment } from "../lib/store.js";
import { button, complain, confirmed, empty, light, link, say } from "../lib/parts.js";
import { exact, visible } from "../lib/words.js";
import { serverPath } from "../lib/paths.js";

const STATES = {
  none: () => light("disabled", "not logged in"),
  needed: () => light("waiting", "login needed"),
  ended: () => light("waiting", "login needed"),
  "logged-in": () => light("ready", "logged in"),
};
const LOOK_MS = 1500; // while somebody logs in

export function open(place) {
  let logins = null;
  let theirs = []; // of members
  let looks = 0;

  async function load() {
    try {
      const answers = await Promise.all([ask("/auth"), ask("/member-logins")]);
      [{ logins }, { logins: theirs }] = answers;
    } catch (error) {
      complain(error);
    }
    clearTimeout(looks);
    if (logins?.some((login) => login.attempt === "waiting")) looks = setTimeout(load, LOOK_MS);
    place.redraw();
  }

  async function logIn({ server }) {
    // Opened before anything is waited for, or the browser takes it for an advert.
    const page = window.open("", "_blank");
    if (page) page.opener = null;
    try {
      const { url } = await order("POST", `/auth/${segment(server)}/login`);
      if (!/^https?:/.test(url)) throw new Error("the server named no page to log in at");
      if (page) page.location.replace(url);
      else say("The browser did not let the login page open; allow it, and try again.", "bad");
    } catch (error) {
      page?.close();
      complain(error);
    }
    load();
  }

  async function logOut({ server }) {
    const question = `Log out of ${server}? It asks for a login before it works again.`;
    if (!(await confirmed(question, "Log out"))) return;
    try {
      await order("POST", `/auth/${segment(server)}/logout`);
      say(`Logged out of ${server}.`);
    } catch (error) {
      complain(error);
    }
    load();
  }

  function until({ state, expires_at: end }) {
    if (!end) return "–";
    const words = exact(end * 1000);
    return state === "logged-in" ? [words, under("renewed before then")] : words;
  }

  function action(login) {
    if (!login.server) return null;
    const isIn = login.state === "logged-in";
    const words = isIn ? "Log out" : "Log in";
    return button(words, () => (isIn ? logOut(login) : logIn(login)), {
      "aria-label": `${words}: ${login.server}`,
      class: ["needed", "ended"].includes(login.state) ? "main" : undefined,
    });
  }

  function tried({ attempt }) {
    if (!attempt) return null;
    if (attempt === "waiting") return under("Finish it in the window that was opened.");
    return h("span", { class: "under bad" }, visible(attempt));
  }

  function row(login) {
    const { server, url, state, issuer, scope } = login;
    return h(
      "tr",
      { key: `${server} ${url}` },
      h(
        "th",
        { scope: "row" },
        server ? link(serverPath(server), visible(server)) : "no server",
        under(visible(url)),
      ),
      h("td", { "data-label": "State" }, STATES[state](), tried(login)),
      h(
        "td",
        { "data-label": "Logs in at" },
        visible(issuer) || "–",
        scope ? under(visible(scope)) : null,
      ),
      h("td", { "data-label": "Expires" }, until(login)),
      h("td", { class: "number" }, action(login)),
    );
  }

  async function revoke({ id, email, login }) {
    const server = login.server || login.url;
    const question = `End the login of ${email} at ${server}? Their next call there asks them to log in again.`;
    if (!(await confirmed(question, "End login"))) return;
    try {
      await order("DELETE", `/member-logins/${segment(id)}`);
      say(`The login of ${email} at ${server} is forgotten.`);
    } catch (error) {
      complain(error);
    }
    load();
  }

  function memberRow(row) {
    const { id, email, login } = row;
    return h(
      "tr",
      { key: `${id} ${login.server}` },
      h("th", { scope: "row" }, visible(email)),
      h(
        "td",
        { "data-label": "Server" },
        login.server ? link(serverPath(login.server), visible(login.server)) : "no server",
        under(visible(login.url)),
      ),
      h("td", { "data-label": "State" }, STATES[login.state]()),
      h("td", { "data-label": "Expires" }, until(login)),
      h(
        "td",
        { class: "number" },
        button("End", () => revoke(row), {
          "aria-label": `End the login of ${email} at ${login.server || login.url}`,
        }),
      ),
    );
  }

  function ofMembers() {
    if (!theirs.length) return null;
    return sheet(
      "Logins of members",
      h(
        "table",
        { class: "stack" },
        heads(["Member", "Server", "State", "Expires", ""]),
        h("tbody", null, theirs.map(memberRow)),
      ),
    );
  }

  function list() {
    if (!logins) return looking();
    const words = "Servers with an address are listed here; some of them want you to log in.";
    if (!logins.length) return empty("No server has an address.", h("p", null, words));
    return h(
      "table",
      { class: "stack" },
      heads(["Server", "State", "Logs in at", "Expires", ""]),
      h("tbody", null, logins.map(row)),
    );
  }

  place.onLeave(() => clearTimeout(looks));
  onPicture(place, load);
  load();
  return () => [
    top("Logins", "Kept in the keyring, or in a private file where there is none."),
    h("div", { key: "list" }, list()),
    h("div", { key: "members" }, ofMembers()),
  ];
}
