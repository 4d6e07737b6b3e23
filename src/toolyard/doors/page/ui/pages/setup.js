// Import from clients: what would be done is shown first, done in one step, and undone in one.

import { h } from "../lib/dom.js";
import { looking, quiet, sheet, small } from "../lib/bits.js";
import { recall, remember } from "../lib/memory.js";
import { order, refresh, segment, state } from "../lib/store.js";
import { button, complain, empty, link, say } from "../lib/parts.js";
import { count, visible } from "../lib/words.js";
import { hasSettled, progressOf } from "../lib/importing.js";
import { clientOffers, offers, outcomes } from "../lib/importtable.js";
import { ways } from "../lib/ways.js";

const PAUSE = 150;
const OWN = "configured";
const KEY = "import";
const DAY_MS = 86_400_000;
const PLACES = {
  keyring: "your system's keyring",
  files: "private files",
  database: "the database that hubs share",
};

// The last import is known for a day, so that it can be undone after other pages were visited.
function recallImport() {
  const last = JSON.parse(recall(KEY) || "null");
  return last && Date.now() - last.at < DAY_MS ? last : null;
}

const titlesOf = ({ clients }, names) =>
  clients.filter(({ client }) => names.includes(client)).map(({ title }) => title);

const rowOf = (name) =>
  state.status?.servers.find((server) => server.name === name && server.source === OWN);

export function open(place) {
  let plan = null;
  let isFresh = false; // the plan is that of the boxes as they are
  let last = recallImport();
  let doing = ""; // the order that is carried out
  let isCancelled = false;
  let waiting = 0;
  let asked = 0; // how many plans were asked for: only the answer to the last one counts
  const left = { servers: new Set(), clients: new Set() };
  const choice = () => ({ leave_servers: [...left.servers], leave_clients: [...left.clients] });

  async function load() {
    asked += 1;
    const mine = asked;
    try {
      const answer = await order("POST", "/setup/preview", choice());
      if (mine !== asked) return;
      plan = answer;
      isFresh = true;
    } catch (error) {
      complain(error);
    }
    place.redraw();
  }

  const choose = (names) => (chosen, on) => {
    for (const name of chosen) {
      if (on) names.delete(name);
      else names.add(name);
    }
    isFresh = false;
    place.redraw();
    clearTimeout(waiting);
    waiting = setTimeout(load, PAUSE);
  };

  async function carryOut() {
    doing = "importing";
    isCancelled = false;
    place.redraw();
    try {
      const done = await order("POST", "/setup", { plan: plan.id, ...choice() });
      const rows = plan.servers.filter((server) => server.action !== "leave");
      last = { ...done, rows, clients: titlesOf(plan, done.connected), at: Date.now() };
      remember(KEY, JSON.stringify(last));
      refresh();
    } catch (error) {
      complain(error);
      await load();
    }
    doing = "";
    if (last && isCancelled) await undo();
    place.redraw();
  }

  function cancel() {
    isCancelled = true;
    place.redraw();
  }

  function startOver() {
    last = null;
    remember(KEY, "");
    plan = null;
    place.redraw();
    load();
  }

  async function undo() {
    doing = "undoing";
    place.redraw();
    try {
      await order("POST", `/setup/${segment(last.id)}/undo`);
      say("Undone. The clients' files are as they were.");
      startOver();
    } catch (error) {
      complain(error);
      if (error.status === 404) startOver(); // somebody undid it already
    }
    doing = "";
    refresh();
    place.redraw();
  }

  function notices() {
    const failed = last.failed.map(({ client, text, hint }) => `${client}: ${text}. ${hint}`);
    const needed = last.rows.flatMap((server) => server.secrets_needed);
    return [
      failed.map((words) => h("p", { class: "bad" }, visible(words))),
      last.connected.length
        ? h("p", null, `Restart ${visible(last.clients.join(", "))} to use the hub.`)
        : null,
      needed.length
        ? h(
            "p",
            null,
            `Store the missing values in `,
            link("/ui/access/secrets", "Secrets"),
            `: ${visible(needed.join(", "))}.`,
          )
        : null,
    ];
  }

  function outcome() {
    const rows = last.rows.map((server) => rowOf(server.name));
    const { usable, starting } = progressOf(rows);
    const isBusy = Boolean(doing);
    const undoWord = starting ? "Cancel" : "Undo";
    const sum = rows.length
      ? `${usable} of ${count(rows.length, "server")} can be used`
      : `${count(last.connected.length, "client")} connected`;
    return h(
      "section",
      { key: "outcome", "aria-label": "Import" },
      h(
        "div",
        { class: "card" },
        h(
          "div",
          { class: "row spread" },
          h("h2", { role: "status" }, starting ? `${sum}, ${starting} starting` : sum),
          h(
            "span",
            { class: "row" },
            starting ? null : button("Import more", startOver, { disabled: isBusy }),
            button(doing === "undoing" ? "Undoing …" : undoWord, undo, { disabled: isBusy }),
          ),
        ),
        starting
          ? h("progress", {
              max: rows.length,
              value: rows.length - starting,
              "aria-label": "Servers that have started",
            })
          : null,
        notices(),
        quiet(`${undoWord} restores the clients' files and removes these servers from the hub.`),
      ),
      rows.length ? outcomes(last.rows, rows) : null,
      h("p", { class: "lead" }, link("/ui", "See all servers")),
    );
  }

  function bar(taken, joined) {
    const words = taken
      ? `Import ${count(taken, "server")}`
      : joined
        ? `Connect ${count(joined, "client")}`
        : "Nothing is chosen";
    const more = taken && joined ? `Connects ${count(joined, "client")}. ` : "";
    return h(
      "div",
      { key: "bar", class: "bar", role: "group", "aria-label": "Import" },
      button(doing ? "Importing …" : words, carryOut, {
        class: "main",
        disabled: Boolean(doing) || !isFresh || !(taken || joined),
      }),
      doing
        ? button(isCancelled ? "Cancelling …" : "Cancel", cancel, { disabled: isCancelled })
        : null,
      small(`${more}You can undo all of it.`),
    );
  }

  function nothing() {
    return empty(
      "No servers to import.",
      h("p", null, "No client on this machine has servers that the hub lacks."),
      h(
        "p",
        { class: "row" },
        h("a", { class: "button main", href: "/ui/add" }, "Add a server"),
        h("a", { class: "button", href: "/ui/clients" }, "Connect a client"),
      ),
    );
  }

  function proposal() {
    const taken = plan.servers.filter((server) => server.action === "take");
    const joined = plan.clients.filter((client) => client.action === "connect").length;
    const secrets = new Set(taken.flatMap((server) => server.secrets)).size;
    const into = PLACES[plan.secrets_in];
    if (!plan.servers.length && !joined && !left.clients.size) return nothing();
    return [
      h(
        "p",
        { class: "quiet lead" },
        "The hub takes over the servers that you tick and stands in for them in the clients' files. Nothing changes before you import.",
      ),
      plan.servers.length
        ? offers(plan, left.servers, choose(left.servers))
        : h("p", null, "The hub has every server of your clients already."),
      secrets
        ? h(
            "p",
            { class: "lead" },
            `${count(secrets, "secret")} will move out of these files into ${into}.`,
          )
        : null,
      sheet("Clients", clientOffers(plan, left.clients, choose(left.clients))),
      bar(taken.length, joined),
    ];
  }

  const ticking = setInterval(() => {
    if (last && !last.rows.every((server) => hasSettled(rowOf(server.name)))) place.redraw();
  }, 1000);
  place.onLeave(() => {
    clearInterval(ticking);
    clearTimeout(waiting);
  });
  if (!last) load();

  return () => [
    ways("/ui/setup"),
    last ? outcome() : plan ? [troubles(plan.problems), proposal()] : looking(),
  ];
}

// Files that could not be read.
function troubles(problems) {
  if (!problems.length) return null;
  const row = ({ text, hint }) =>
    h("li", { key: text }, h("div", null, h("p", null, visible(text)), quiet(visible(hint))));
  return h("ul", { class: "problems" }, problems.map(row));
}
