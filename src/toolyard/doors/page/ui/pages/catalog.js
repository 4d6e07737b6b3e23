// The catalog: definitions of servers to choose from, here and at a registry.

import { h } from "../lib/dom.js";
import { looking, quiet, small, tag } from "../lib/bits.js";
import { recall, remember } from "../lib/memory.js";
import { ask, order, segment } from "../lib/store.js";
import { button, complain, empty, link, say } from "../lib/parts.js";
import { problems } from "../lib/problems.js";
import { count, short, visible } from "../lib/words.js";
import { choice, field, textInput } from "../lib/editing.js";
import { ways } from "../lib/ways.js";
import { shelfPath } from "../lib/paths.js";

const PUBLIC = "https://registry.modelcontextprotocol.io";
const PAUSE = 200;

function categoriesOf(definitions) {
  return [...new Set(definitions.map((definition) => definition.category).filter(Boolean))].sort();
}

export function open(place) {
  const told = new URLSearchParams(location.search);
  let asked = { search: told.get("search") || "", category: "", added: false };
  let isAway = told.get("from") === "registry";
  let found = null;
  let categories = [];
  let waiting = 0;
  let turn = 0; // how many searches were begun: only the answer to the last one counts
  const shop = {
    registry: recall("registry") || PUBLIC,
    search: "",
    /** @type {any[] | null} */
    servers: null,
    next: "",
    isBusy: false,
  };

  async function load() {
    turn += 1;
    const mine = turn;
    try {
      const { search, category, added } = asked;
      const query = `search=${segment(search)}&category=${segment(category)}&added=${added}`;
      const answer = await ask(`/catalog?${query}`);
      if (mine !== turn) return;
      found = answer;
      const isWhole = !asked.search && !asked.category && !asked.added;
      if (isWhole) categories = categoriesOf(answer.definitions);
    } catch (error) {
      complain(error);
    }
    place.redraw();
  }

  // Keep the address in step with what is shown.
  function note() {
    const search = asked.search ? `?search=${segment(asked.search)}` : "";
    history.replaceState(null, "", location.pathname + (isAway ? "?from=registry" : search));
    place.redraw();
  }

  function set(key, value) {
    asked = { ...asked, [key]: value };
    note();
    clearTimeout(waiting);
    waiting = setTimeout(load, PAUSE);
  }

  async function look(cursor = "") {
    remember("registry", shop.registry);
    shop.isBusy = true;
    place.redraw();
    try {
      const where = `registry=${segment(shop.registry)}&cursor=${segment(cursor)}`;
      const query = `${where}&search=${segment(shop.search)}`;
      const answer = await ask(`/published?${query}`);
      const before = (cursor && shop.servers) || [];
      shop.servers = [...before, ...answer.servers];
      shop.next = answer.metadata.nextCursor || "";
    } catch (error) {
      complain(error);
    }
    shop.isBusy = false;
    place.redraw();
  }

  // Takes the definition over, and nothing more: what would be started is shown on its page first.
  async function take(server) {
    try {
      const version = server.version || "latest";
      const taken = await order("POST", "/catalog/import", {
        name: server.name,
        registry: shop.registry,
        version,
      });
      say("Taken over; nothing is started yet.");
      place.go(shelfPath(taken.name));
    } catch (error) {
      complain(error);
    }
  }

  function card(definition) {
    return h(
      "li",
      { key: definition.name },
      h(
        "article",
        { class: "card" },
        h(
          "h2",
          null,
          link(shelfPath(definition.name), visible(definition.title || definition.name)),
        ),
        h(
          "p",
          null,
          definition.added
            ? h(
                "span",
                { class: "tag on" },
                definition.enabled ? "in the yard" : "in the yard, off",
              )
            : null,
          tag(visible(definition.transport)),
          definition.category ? tag(visible(definition.category)) : null,
          definition.folder === "official" ? null : tag(visible(definition.folder)),
        ),
        h("p", null, short(definition.description, 240)),
      ),
    );
  }

  function offer(entry) {
    const server = entry.server;
    return h(
      "li",
      { key: `${server.name} ${server.version}` },
      h(
        "article",
        { class: "card" },
        h("h2", null, visible(server.title || server.name)),
        quiet(visible(server.name), " ", visible(server.version)),
        h("p", null, short(server.description, 240)),
        h(
          "p",
          null,
          button("Look at it", () => take(server), { "aria-label": `Look at it: ${server.name}` }),
        ),
      ),
    );
  }

  function registry() {
    return h(
      "section",
      { key: "away", "aria-label": "At a registry" },
      h(
        "form",
        { class: "filters", on: { submit: () => look() } },
        field(
          "Registry",
          textInput("registry", shop.registry, (text) => {
            shop.registry = text;
            place.redraw();
          }),
        ),
        field(
          "Words",
          textInput(
            "words",
            shop.search,
            (text) => {
              shop.search = text;
              place.redraw();
            },
            { type: "search" },
          ),
        ),
        h(
          "div",
          { class: "field" },
          h(
            "button",
            { type: "submit", disabled: shop.isBusy || !shop.registry },
            shop.isBusy ? "Asking …" : "Search there",
          ),
        ),
      ),
      shop.servers && !shop.servers.length
        ? h("p", null, "Nothing is published there under these words.")
        : null,
      shop.servers
        ? h("ul", { class: "shelf" }, shop.servers.map(offer))
        : quiet("The registry is asked when you search, and not before."),
      shop.next
        ? h(
            "p",
            null,
            button("More", () => look(shop.next)),
          )
        : null,
    );
  }

  function here() {
    return h(
      "section",
      { key: "here", "aria-label": "Here" },
      h(
        "div",
        { class: "filters" },
        field(
          "Search",
          textInput("search", asked.search, (text) => set("search", text), { type: "search" }),
        ),
        field(
          "Category",
          choice(
            "category",
            asked.category,
            [["", "all"], ...categories.map((category) => [category, visible(category)])],
            (value) => set("category", value),
          ),
        ),
        field(
          "Show",
          choice(
            "added",
            String(asked.added),
            [
              ["false", "all"],
              ["true", "those in the yard"],
            ],
            (value) => set("added", value === "true"),
          ),
        ),
      ),
      found ? h("div", null, shelf()) : looking(),
    );
  }

  function shelf() {
    if (found.definitions.length) return h("ul", { class: "shelf" }, found.definitions.map(card));
    return empty("Nothing here fits.", h("p", null, "Use other words, or search a registry."));
  }

  const side = (words, away) =>
    button(
      words,
      () => {
        isAway = away;
        note();
      },
      { "aria-pressed": String(isAway === away) },
    );
  place.onLeave(() => clearTimeout(waiting));
  load();
  return () => [
    ways("/ui/catalog"),
    found?.problems.length ? problems(found.problems) : null,
    h(
      "p",
      { class: "row finding", role: "group", "aria-label": "Where to look" },
      side("Here", false),
      side("At a registry", true),
      small(found ? count(found.total, "definition") : ""),
    ),
    isAway ? registry() : here(),
  ];
}
