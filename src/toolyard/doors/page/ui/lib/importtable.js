// The tables of an import from clients: before it, what would be done; after it, how it goes.

import { h } from "./dom.js";
import { heads, small, under } from "./bits.js";
import { fold, light, link, stateOf } from "./parts.js";
import { mend } from "./causes.js";
import { isStuck, originsOf, restrictionsOf, shortPath } from "./importing.js";
import { patch } from "./patch.js";
import { joinWords } from "./shellwords.js";
import { count, short, visible } from "./words.js";
import { serverPath } from "./paths.js";

const LONGEST = 200;

function tick(id, label, checked, change, attrs = {}) {
  return h("input", {
    type: "checkbox",
    id,
    "aria-label": label,
    checked,
    ...attrs,
    on: { change: (event) => change(event.target.checked) },
  });
}

const lines = (words) => words.map((line) => under(visible(line)));

// What becomes of a server beside being taken; names of secrets, never their values.
function notes(server, clients) {
  const titles = new Map(clients.map(({ client, title }) => [client, title]));
  const unkept = server.not_kept.map(
    ({ client, key }) => `${key} (${titles.get(client) || client})`,
  );
  return [
    server.action === "present" ? ["The hub has it already."] : [],
    server.enabled ? [] : ["Disabled, and stays so."],
    server.secrets.length ? [`${moves(server.secrets)}: ${server.secrets.join(", ")}`] : [],
    server.secrets_needed.length ? [`Needs a value: ${server.secrets_needed.join(", ")}`] : [],
    restrictionsOf(server.name, clients),
    unkept.length ? [`Not kept: ${unkept.join(", ")}`] : [],
  ].flat();
}

const moves = (secrets) => (secrets.length === 1 ? "Secret moves" : "Secrets move");

function origin(server, clients) {
  const from = originsOf(server, clients);
  return [visible(from.clients.join(", ")), from.projects.map((path) => under(visible(path)))];
}

function offer(server, plan, left, choose) {
  const isFixed = isStuck(server, left);
  const isWanted = !isFixed && !left.has(server.name);
  const id = `take-${server.name}`;
  const box = tick(id, `Import ${server.name}`, isWanted, (on) => choose([server.name], on));
  return h(
    "tr",
    { key: server.name, class: isWanted ? undefined : "off" },
    h("td", { class: "tick" }, isFixed ? null : box),
    h(
      "th",
      { scope: "row" },
      isFixed ? visible(server.name) : h("label", { for: id }, visible(server.name)),
      h(
        "code",
        { class: "runs", title: joinWords(server.runs) },
        short(joinWords(server.runs.map(shortPath)), LONGEST),
      ),
    ),
    h("td", { "data-label": "From", class: "whole" }, origin(server, plan.clients)),
    h(
      "td",
      { class: "whole" },
      isFixed
        ? small(visible(`Stays where it is: ${server.reason}.`))
        : isWanted
          ? lines(notes(server, plan.clients))
          : small("Stays where it is."),
    ),
  );
}

/**
 * Every server of the clients, once.
 * @param {any} plan
 * @param {Set<string>} left the names that are not wanted
 * @param {(names: string[], on: boolean) => void} choose
 */
export function offers(plan, left, choose) {
  const open = plan.servers.filter((server) => !isStuck(server, left));
  const stuck = plan.servers.filter((server) => isStuck(server, left));
  const names = open.map((server) => server.name);
  const wanted = names.filter((name) => !left.has(name)).length;
  const all = tick("take-all", "Import all servers", wanted > 0, (on) => choose(names, on), {
    indeterminate: wanted > 0 && wanted < names.length,
    disabled: !names.length,
  });
  return h(
    "section",
    { key: "offers", class: "list", "aria-label": "Servers of your clients" },
    h(
      "div",
      { class: "filter" },
      all,
      h("label", { for: "take-all" }, "All servers"),
      sum(open, wanted),
    ),
    h(
      "table",
      { class: "stack import" },
      heads([h("span", { class: "skip" }, "Choose"), "Server", "From", "What changes"]),
      h(
        "tbody",
        null,
        [...open, ...stuck].map((server) => offer(server, plan, left, choose)),
      ),
    ),
  );
}

const sum = (open, wanted) => small(`${wanted} of ${open.length} chosen`);

function clientWords({ action, replaced, stays, profile }) {
  if (action === "skip") return "Its file stays as it is.";
  if (action === "none") return "Connected already; nothing changes.";
  const names = stays.length ? `Stays in it: ${stays.join(", ")}. ` : "";
  return [
    replaced.length
      ? `The hub replaces ${count(replaced.length, "server")} in its file. `
      : "The hub is added to its file. ",
    names,
    profile ? `The profile ${profile} keeps its restrictions.` : "",
  ].join("");
}

/**
 * The clients whose files would change.
 * @param {any} plan
 * @param {Set<string>} left
 * @param {(names: string[], on: boolean) => void} choose
 */
export function clientOffers(plan, left, choose) {
  const row = (client) => {
    const id = `connect-${client.client}`;
    const isLeft = left.has(client.client);
    const isOpen = isLeft || client.action === "connect";
    const label = `Connect ${client.title}`;
    return h(
      "li",
      { key: client.client },
      isOpen ? tick(id, label, !isLeft, (on) => choose([client.client], on)) : h("span", null),
      h(
        "div",
        null,
        h("label", { class: "title", for: isOpen ? id : undefined }, visible(client.title)),
        " ",
        small(visible(client.file)),
        client.problem
          ? h("p", { class: "bad" }, visible(`${client.problem}. ${client.hint}`))
          : h("p", null, visible(clientWords(client))),
        client.difference && !isLeft ? fold("See the change", patch(client.difference)) : null,
      ),
    );
  };
  return h("ul", { class: "plain ticks" }, plan.clients.map(row));
}

function outcome(server, row) {
  const { problem } = row || {};
  return h(
    "tr",
    { key: server.name },
    h("th", { scope: "row" }, link(serverPath(row?.alias || server.name), visible(server.name))),
    h(
      "td",
      { "data-label": "State", class: "whole" },
      row ? stateOf(row) : light("starting", "added"),
      row?.state === "ready" ? small(`, ${count(row.tools, "tool")}`) : null,
    ),
    h(
      "td",
      { class: "whole" },
      problem ? h("span", { class: "bad" }, short(problem.text, LONGEST)) : null,
      problem?.hint ? under(short(problem.hint, LONGEST)) : null,
    ),
    h("td", { class: "number act" }, problem ? mend(problem, row, "small") : null),
  );
}

/**
 * The servers that were imported, and how each is doing.
 * @param {any[]} servers
 * @param {any[]} rows of the yard, in the same order; undefined where it is not noticed yet
 */
export function outcomes(servers, rows) {
  return h(
    "table",
    { class: "stack" },
    heads(["Server", "State", "Problem", ""]),
    h(
      "tbody",
      null,
      servers.map((server, at) => outcome(server, rows[at])),
    ),
  );
}
