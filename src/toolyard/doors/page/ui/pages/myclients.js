// My clients: how a member connects theirs, and which are connected now.

import { h } from "../lib/dom.js";
import { looking, quiet, sheet, top } from "../lib/bits.js";
import { ask, listen, state } from "../lib/store.js";
import { complain, fold } from "../lib/parts.js";
import { copyable } from "../lib/copying.js";
import { visible } from "../lib/words.js";
import { clientLogins } from "../lib/clientlogins.js";
import { sessionTable } from "../lib/sessiontable.js";

const LOOK_MS = 5000; // clients come and go without a word

/** The links by which some clients add a server at one press. */
function installLinks(url) {
  const entry = { type: "http", url };
  const cursor = btoa(JSON.stringify({ url }));
  const named = encodeURIComponent(JSON.stringify({ name: "toolyard", ...entry }));
  return [
    [
      "VS Code",
      `https://insiders.vscode.dev/redirect?url=${encodeURIComponent(`vscode:mcp/install?${named}`)}`,
    ],
    ["Cursor", `https://cursor.com/install-mcp?name=toolyard&config=${encodeURIComponent(cursor)}`],
  ];
}

function commands(url) {
  return [
    ["Claude Code", `claude mcp add --transport http toolyard ${url}`],
    ["Codex", `codex mcp add toolyard --url ${url}`],
    ["Gemini CLI", `gemini mcp add --transport http toolyard ${url}`],
  ];
}

export function open(place) {
  const url = `${location.origin}/mcp`;
  let sessions = null;
  let clients = null;
  let looks = 0;

  async function load() {
    clearTimeout(looks);
    try {
      const asked = [ask("/my/sessions"), ask("/my/authorizations")];
      [{ sessions }, { clients }] = await Promise.all(asked);
    } catch (error) {
      if (state.isLetIn) complain(error);
    }
    looks = setTimeout(() => !document.hidden && load(), LOOK_MS);
    place.redraw();
  }

  const step = (title, text, label) =>
    h("li", { key: title }, h("h3", null, title), copyable(text, label || `command for ${title}`));

  function connecting() {
    return sheet(
      "Connect a client",
      h("p", null, "Give your client this address. It opens a page on which you log in."),
      copyable(url, "address"),
      h(
        "p",
        { class: "row" },
        installLinks(url).map(([name, href]) =>
          h(
            "a",
            { key: name, class: "button", href, target: "_blank", rel: "noopener noreferrer" },
            `Add to ${name}`,
          ),
        ),
      ),
      fold(
        "On a terminal",
        h(
          "ul",
          { class: "plain" },
          commands(url).map(([title, text]) => step(title, text)),
        ),
      ),
    );
  }

  function lead() {
    const names = state.me?.profiles || [];
    if (!names.length) return "You are not admitted to any profile yet; ask a keeper.";
    const words = `They see the ${names.length === 1 ? "profile" : "profiles"} `;
    return [words, h("strong", null, visible(names.join(", "))), "."];
  }

  function list() {
    if (!sessions) return looking();
    if (!sessions.length) return quiet("None of your clients is connected.");
    return sessionTable(sessions, "/my/sessions", load, false);
  }

  place.onLeave(() => clearTimeout(looks));
  place.onLeave(listen((kind) => kind === "picture" && load()));
  load();
  return () => [
    top("My clients", lead()),
    connecting(),
    h(
      "section",
      { key: "sessions", class: "card", "aria-label": "Connected now" },
      h("h2", null, "Connected now"),
      list(),
    ),
    clients?.length
      ? h(
          "section",
          { key: "logged-in", class: "card", "aria-label": "Logged in" },
          h("h2", null, "Logged in"),
          clientLogins(clients, "/my/authorizations", load, false),
        )
      : null,
  ];
}
