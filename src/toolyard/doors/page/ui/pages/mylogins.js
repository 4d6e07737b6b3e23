// My logins: where a member is logged in by their own account, and their own secrets.

import { h } from "../lib/dom.js";
import { heads, looking, quiet, submit, top, under } from "../lib/bits.js";
import { ask, onPicture, order, segment, state } from "../lib/store.js";
import { button, complain, confirmed, light, say } from "../lib/parts.js";
import { exact, visible } from "../lib/words.js";
import { field, textInput } from "../lib/editing.js";

const LEAD = "Servers use these for your calls alone. Nobody else's calls get them.";
const STATES = {
  none: () => light("disabled", "not logged in"),
  needed: () => light("waiting", "login needed"),
  ended: () => light("waiting", "login needed"),
  "logged-in": () => light("ready", "logged in"),
};
const LOOK_MS = 1500; // while somebody logs in

export function open(place) {
  let logins = null;
  let secrets = null;
  let draft = null; // the secret that is set
  let looks = 0;

  async function load() {
    clearTimeout(looks);
    try {
      [{ logins }, { secrets }] = await Promise.all([ask("/my/logins"), ask("/my/secrets")]);
    } catch (error) {
      if (state.isLetIn) complain(error);
    }
    if (logins?.some((login) => login.attempt === "waiting")) looks = setTimeout(load, LOOK_MS);
    place.redraw();
  }

  async function logIn({ server }) {
    // Opened before anything is waited for, or the browser takes it for an advert.
    const page = window.open("", "_blank");
    if (page) page.opener = null;
    try {
      const { url } = await order("POST", `/my/logins/${segment(server)}/login`);
      if (!/^https?:/.test(url)) throw new Error("the server named no page to log in at");
      if (page) page.location.replace(url);
      else say("The browser did not let the login page open; allow it, and try again.", "bad");
    } catch (error) {
      page?.close();
      complain(error);
    }
    load();
  }

  async function give(question, yes, words, method, path) {
    if (!(await confirmed(question, yes))) return;
    try {
      await order(method, path);
      say(words);
    } catch (error) {
      complain(error);
    }
    load();
  }

  const logOut = ({ server }) =>
    give(
      `Log out of ${server}? It asks you to log in before it works for you again.`,
      "Log out",
      `Logged out of ${server}.`,
      "POST",
      `/my/logins/${segment(server)}/logout`,
    );
  const remove = ({ name }) =>
    give(
      `Remove your secret ${name}? Servers that need it do not work for you without it.`,
      "Remove",
      `${name} was removed.`,
      "DELETE",
      `/my/secrets/${segment(name)}`,
    );

  async function put() {
    try {
      await order("PUT", `/my/secrets/${segment(draft.name)}`, { value: draft.value });
      say(`${draft.name} is set.`);
      draft = null;
    } catch (error) {
      complain(error);
    }
    load();
  }

  function edit(value) {
    draft = value;
    place.redraw();
  }

  function form() {
    return h(
      "form",
      { key: "form", class: "column", "aria-label": "Secret", on: { submit: put } },
      field(
        `Value of ${visible(draft.name)}`,
        textInput("secret-value", draft.value, (value) => edit({ ...draft, value }), {
          type: "password",
          autocomplete: "new-password",
        }),
        "It is sealed, used for your calls alone, and never shown.",
      ),
      h(
        "p",
        { class: "row" },
        submit("Set secret", !draft.value),
        button("Cancel", () => edit(null)),
      ),
    );
  }

  function loginRow(login) {
    const { server, url, attempt } = login;
    const isIn = login.state === "logged-in";
    const words = isIn ? "Log out" : "Log in";
    return h(
      "tr",
      { key: `${server} ${url}` },
      h("th", { scope: "row" }, visible(server) || "no server", under(visible(url))),
      h(
        "td",
        { "data-label": "State" },
        STATES[login.state](),
        attempt === "waiting" ? under("Finish it in the window that was opened.") : null,
        attempt && attempt !== "waiting"
          ? h("span", { class: "under bad" }, visible(attempt))
          : null,
      ),
      h(
        "td",
        { "data-label": "Expires" },
        login.expires_at ? exact(login.expires_at * 1000) : "–",
        isIn && login.expires_at ? under("renewed before then") : null,
      ),
      h(
        "td",
        { class: "number" },
        server
          ? button(words, () => (isIn ? logOut(login) : logIn(login)), {
              "aria-label": `${words}: ${server}`,
            })
          : null,
      ),
    );
  }

  function secretRow(secret) {
    const { name, is_set: isSet, used_by: users } = secret;
    return h(
      "tr",
      { key: name },
      h("th", { scope: "row" }, visible(name)),
      h(
        "td",
        { "data-label": "State" },
        isSet ? light("ready", "set") : light("waiting", "needed"),
      ),
      h("td", { "data-label": "Used by" }, visible(users.join(", ")) || "–"),
      h(
        "td",
        { class: "number" },
        h(
          "span",
          { class: "row" },
          button(isSet ? "Change" : "Set", () => edit({ name, value: "" }), {
            "aria-label": `Set ${name}`,
          }),
          isSet ? button("Remove", () => remove(secret), { "aria-label": `Remove ${name}` }) : null,
        ),
      ),
    );
  }

  function table(rows, titles, row, none) {
    if (!rows) return looking();
    if (!rows.length) return quiet(none);
    return h("table", { class: "stack" }, heads(titles), h("tbody", null, rows.map(row)));
  }

  const part = (title, ...kids) =>
    h("section", { key: title, class: "card", "aria-label": title }, h("h2", null, title), ...kids);

  place.onLeave(() => clearTimeout(looks));
  onPicture(place, load);
  load();
  return () => [
    top("My logins", LEAD),
    part(
      "Logins",
      table(
        logins,
        ["Server", "State", "Expires", ""],
        loginRow,
        "No server that you use asks for a login of your own.",
      ),
    ),
    part(
      "Secrets",
      draft ? form() : null,
      table(
        secrets,
        ["Secret", "State", "Used by", ""],
        secretRow,
        "No server that you use needs a secret of your own.",
      ),
    ),
  ];
}
