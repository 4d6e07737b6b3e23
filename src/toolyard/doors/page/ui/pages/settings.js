// Settings: the value of each, and where it comes from; and where definitions of servers come from.

import { h } from "../lib/dom.js";
import { heads, looking, sheet, top, under } from "../lib/bits.js";
import { ask } from "../lib/store.js";
import { complain, empty, link } from "../lib/parts.js";
import { count, visible } from "../lib/words.js";
import { textInput, toggle } from "../lib/editing.js";
import { marked } from "../lib/marked.js";

function binary(value) {
  const mebibytes = value / 1048576;
  return Number.isInteger(mebibytes) ? `${mebibytes} MiB` : `${value} bytes`;
}

function shown({ value, unit }) {
  if (value === null) return "not shown";
  if (unit === "bytes") return binary(value);
  if (unit && value) return `${value} ${unit}`;
  if (Array.isArray(value)) return value.length ? visible(value.join(", ")) : "none";
  return visible(value === "" ? "none" : value);
}

function origin({ origin: from, variable }) {
  if (from === "default") return h("span", { class: "quiet" }, "default");
  return from === "flag" ? "flag" : h("code", null, visible(variable));
}

function row(setting) {
  const { name, origin: from, text, variable } = setting;
  return h(
    "tr",
    { key: name },
    h("th", { scope: "row" }, visible(name), under(marked(text))),
    h("td", { "data-label": "Value", class: "value" }, h("code", null, shown(setting))),
    h(
      "td",
      { "data-label": "From", title: from === "default" ? `set it with ${variable}` : undefined },
      origin(setting),
    ),
  );
}

const SOURCES = {
  official: "Bundled with Toolyard",
  custom: "Your own, written or imported from a registry",
};

// Where definitions come from, and how many of them.
function sourcesOf(definitions) {
  const counts = new Map();
  for (const { folder } of definitions) counts.set(folder, (counts.get(folder) || 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}

export function open(place) {
  let settings = null;
  let catalog = null;
  let words = "";
  let isChangedOnly = false;

  async function load() {
    try {
      const [all, definitions] = await Promise.all([ask("/settings"), ask("/catalog")]);
      settings = all.settings;
      catalog = definitions;
    } catch (error) {
      complain(error);
    }
    place.redraw();
  }

  function matching() {
    const wanted = words.toLowerCase();
    return settings.filter(
      ({ name, text, variable, origin: from }) =>
        (!isChangedOnly || from !== "default") &&
        `${name} ${text} ${variable}`.toLowerCase().includes(wanted),
    );
  }

  function filter() {
    const changed = settings.filter((setting) => setting.origin !== "default").length;
    return h(
      "div",
      { class: "row spread finding" },
      textInput(
        "find-setting",
        words,
        (value) => {
          words = value;
          place.redraw();
        },
        {
          type: "search",
          class: "narrow",
          placeholder: "Find a setting",
          "aria-label": "Find a setting",
        },
      ),
      toggle("changed-only", `Changed only (${changed})`, isChangedOnly, (isOn) => {
        isChangedOnly = isOn;
        place.redraw();
      }),
    );
  }

  function table() {
    const rows = matching();
    if (!rows.length)
      return empty("No setting fits.", h("p", null, "Use other words, or show all."));
    return h(
      "table",
      { class: "stack settings" },
      heads(["Setting", "Value", "From"]),
      h("tbody", null, rows.map(row)),
    );
  }

  function sources() {
    return sheet(
      "Catalog sources",
      h(
        "ul",
        { class: "plain" },
        sourcesOf(catalog.definitions).map(([folder, number]) =>
          h(
            "li",
            { key: folder, class: "row spread" },
            h("span", null, SOURCES[folder] || visible(folder)),
            h("span", { class: "quiet" }, count(number, "definition")),
          ),
        ),
      ),
      h("p", null, link("/ui/catalog", "Browse the catalog"), " or search a registry there."),
    );
  }

  load();
  return () => [
    top("Settings", [
      "Fixed when the hub starts. Set the variable or flag, then run ",
      h("code", null, "toolyard restart"),
      ".",
    ]),
    settings ? [filter(), h("div", { key: "table" }, table()), sources()] : looking(),
  ];
}
