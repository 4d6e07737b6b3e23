// Access: the tokens by which clients and agents are let in.

import { h } from "../lib/dom.js";
import { heads, looking, quiet, top } from "../lib/bits.js";
import { ask } from "../lib/store.js";
import { complain, empty, time } from "../lib/parts.js";
import { visible } from "../lib/words.js";

function sees({ servers, profile, agent, discovers }) {
  if (discovers) return "the list of announced servers";
  if (agent) return `the list of ${visible(agent)}`;
  if (profile) return `the profile ${visible(profile)}`;
  return servers.length ? visible(servers.join(", ")) : "all servers";
}

function row(token) {
  return h(
    "tr",
    { key: token.name },
    h("th", { scope: "row" }, visible(token.name)),
    h("td", { "data-label": "Sees" }, sees(token)),
    h("td", { "data-label": "Created" }, time(token.created_at)),
  );
}

function open(place) {
  let tokens = null;
  ask("/tokens")
    .then((answer) => {
      tokens = answer.tokens;
    }, complain)
    .finally(place.redraw);

  function list() {
    const command = h("code", null, "toolyard token create NAME");
    if (!tokens.length) return empty("No tokens yet.", h("p", null, "Create one: ", command));
    return [
      h(
        "table",
        { class: "stack" },
        heads(["Token", "Sees", "Created"]),
        h("tbody", null, tokens.map(row)),
      ),
      quiet("Create another: ", command),
    ];
  }

  return () => [
    top("Access", quiet("Tokens let clients on other machines, and agents, use the hub.")),
    tokens ? list() : looking(),
  ];
}

export const page = { path: "/ui/access", title: () => "Access", open };
