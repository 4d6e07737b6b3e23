// Limits: how much may be used, by whom and of what, and how much is used now.

import { h } from "../lib/dom.js";
import { small, under } from "../lib/bits.js";
import { listen, state } from "../lib/store.js";
import { light } from "../lib/parts.js";
import { RecordPage } from "../lib/recordpage.js";
import { NEW_LIMIT, aboutOf, allowsOf, bodyOf, draftOf, useOf } from "../lib/limits.js";
import { count, seconds, visible } from "../lib/words.js";
import { field, textInput } from "../lib/editing.js";

const LEAD = "A limit says how much may be used, by whom and of what. A call must pass them all.";
const ABOUT = [
  ["member", "Member", "Email address, or * for each"],
  ["token", "Token", "Name, or * for each"],
  ["agent", "Agent", "Name, or * for each"],
  ["server", "Server", "Name, or * for each"],
  ["tool", "Tool", "Name, or * for each"],
];
const LOOK_MS = 5000; // use grows old by itself, and nobody tells
const MOST_USES = 5; // of one limit: those of which the most is used

// A limit names its server in full; people know it by its alias.
function aliased(limit) {
  const server = state.status?.servers.find((row) => `${row.name}@${row.source}` === limit.server);
  return server ? { ...limit, server: server.alias } : limit;
}

/** @type {import("../lib/recordpage.js").RecordKind} */
const KIND = {
  word: "limit",
  list: "limits",
  blank: NEW_LIMIT,
  draftOf: (limit) => draftOf(aliased(limit)),
  order: (draft) => ["POST", "/limits", bodyOf(draft)],
};

export function open(place) {
  const page = new RecordPage(place, KIND);

  const text = (key, label, help, attrs = {}) =>
    field(label, textInput(`limit-${key}`, page.draft[key], page.set(key), attrs), help);
  const number = (key, label, help) =>
    text(key, label, help, { type: "number", min: 0, step: 1, inputmode: "numeric" });

  function form() {
    const servers = (state.status?.servers || []).map(({ alias }) => alias);
    return page.form(
      h(
        "fieldset",
        { class: "plainset" },
        h("legend", null, "About"),
        small("Empty for all, counted together. With *, each has a count of its own."),
        h(
          "div",
          { class: "cols" },
          ABOUT.map(([key, label, help]) =>
            text(key, label, help, {
              maxlength: 500,
              list: key === "server" ? "limit-servers" : undefined,
            }),
          ),
        ),
        h(
          "datalist",
          { id: "limit-servers" },
          servers.map((alias) => h("option", { key: alias, value: alias })),
        ),
      ),
      h(
        "fieldset",
        { class: "plainset" },
        h("legend", null, "Allows"),
        small("Empty for no limit."),
        h(
          "div",
          { class: "cols" },
          number("calls", "Calls", "In the time under Per"),
          text("bytes", "Bytes", "In that time: 64kB, 10MB, 1GB"),
          text("per", "Per", "30s, 15m, 1h, 1d"),
          number("concurrent", "Calls at a time", "Under way at once"),
          number("instances", "Running servers", "Of a member or a token"),
        ),
      ),
    );
  }

  function use(figure) {
    const words = useOf(figure);
    const whose = visible(figure.subject) || "everybody";
    const left = figure.resets_in ? `, resets in ${seconds(figure.resets_in)}` : "";
    return h(
      "li",
      { key: `${figure.figure} ${figure.subject}` },
      whose,
      h("progress", {
        max: figure.allowed,
        value: Math.min(figure.used, figure.allowed),
        "aria-label": `${whose}: ${words}`,
      }),
      under(words, left),
    );
  }

  function used({ name: limit }) {
    const own = page.answer.uses.filter((figure) => figure.limit === limit);
    const rest = own.length - MOST_USES;
    return [
      own.length ? h("ul", { class: "uses" }, own.slice(0, MOST_USES).map(use)) : "nothing",
      rest > 0 ? under(`and ${count(rest, "other")}`) : null,
    ];
  }

  function allows(limit) {
    if (limit.fault)
      return [
        light("failing", "damaged: refuses what it is about"),
        under(h("span", { class: "bad" }, visible(limit.fault))),
      ];
    return allowsOf(limit).map((words, at) => [at ? h("br", null) : null, words]);
  }

  function row(limit) {
    return h(
      "tr",
      { key: limit.name },
      h("th", { scope: "row" }, visible(limit.name)),
      h("td", { "data-label": "About", class: "whole" }, aboutOf(limit)),
      h("td", { "data-label": "Allows", class: "whole" }, allows(limit)),
      h("td", { "data-label": "Used now", class: "whole" }, used(limit)),
      page.actions(limit),
    );
  }

  const looks = setInterval(() => !document.hidden && page.rows.length && page.load(), LOOK_MS);
  place.onLeave(() => clearInterval(looks));
  place.onLeave(listen((kind) => kind === "calls" && page.load()));
  const table = {
    titles: ["Limit", "About", "Allows", "Used now"],
    rows: () => page.rows.map(aliased).map(row),
    none: "Callers may use as much as servers give them.",
  };
  return () => page.draw(LEAD, form, table);
}
