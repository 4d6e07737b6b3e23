// The tools of the yard, server by server, ticked if a profile shows them; a row opens for its
// name, its description and whether it is always listed.

import { h } from "./dom.js";
import { quiet, small, tag, under } from "./bits.js";
import { button, say } from "./parts.js";
import { area, check, field, fromList, textInput } from "./editing.js";
import { isShown, isWhole, spellings, withServer, withTool } from "./patterns.js";
import { count, short, visible } from "./words.js";

const MOST = 100; // tools of one server that are drawn; a search finds the others
const FEW = 40; // tools in all, so that no server needs to be folded

/**
 * The servers of the yard with their tools, as the lists of a profile know them.
 * @param {any[]} servers
 * @param {any[]} tools
 * @param {string} separator of the profile; empty for the hub's
 */
export function groupsOf(servers, tools, separator) {
  const byServer = new Map();
  for (const tool of tools) {
    if (!byServer.has(tool.server)) byServer.set(tool.server, []);
    byServer.get(tool.server).push(tool);
  }
  const used = servers.filter(({ alias, enabled }) => enabled || byServer.has(alias));
  const groups = used.map(({ alias, name, source, state }) => {
    const found = byServer.get(alias) || [];
    const mark = separator ? `${alias}${separator}` : usualMark(alias, found);
    const server = { names: [alias, `${name}@${source}`], mark };
    const members = found.map((tool) => ({
      ...server,
      tool: tool.tool,
      description: tool.description || "",
    }));
    return { ...server, alias, state, tools: members };
  });
  return groups.sort((a, b) => a.alias.localeCompare(b.alias));
}

// What the hub puts before the tools of a server, as one of their names shows.
function usualMark(alias, tools) {
  const usual = tools.find(({ name, tool }) => name.startsWith(alias) && name.endsWith(tool));
  return usual ? usual.name.slice(0, -usual.tool.length) : `${alias}__`;
}

export const listsOf = ({ isOnly, allow, hide }) => ({
  isOnly,
  allow: fromList(allow),
  hide: fromList(hide),
});

function setLists(form, lists) {
  form.allow = lists.allow.join("\n");
  form.hide = lists.hide.join("\n");
}

export class ToolPicker {
  #query = "";
  #opened = new Set(); // servers that are unfolded, or folded where all are unfolded at first
  #edited = new Set(); // tools whose row is open

  /** @param {import("../pages/index.js").Place} place */
  constructor(place) {
    this.place = place;
  }

  /** @param {any} draft of a profile @param {any[]} groups @param {Map<string, string>} names */
  draw(draft, groups, names) {
    const shown = groups.map((group) => this.#found(group)).filter(Boolean);
    const isSmall = groups.reduce((sum, group) => sum + group.tools.length, 0) <= FEW;
    const lists = listsOf(draft.form);
    const all = (on) => () =>
      draft.edit((form) => setLists(form, this.#turnAll(listsOf(form), shown, on)));
    return [
      h(
        "div",
        { key: "search", class: "filter", role: "search", "aria-label": "Tools" },
        h("input", {
          type: "search",
          id: "tool-search",
          placeholder: "Search servers and tools",
          "aria-label": "Search servers and tools",
          value: this.#query,
          on: { input: (event) => this.#search(event.target.value) },
        }),
        button(this.#query ? "Tick these" : "Tick all", all(true), { class: "small" }),
        button(this.#query ? "Untick these" : "Untick all", all(false), { class: "small" }),
      ),
      shown.length
        ? shown.map((group) => this.#group(draft, lists, group, names, isSmall))
        : quiet(groups.length ? "No tool fits." : "No server yet."),
    ];
  }

  #search(words) {
    this.#query = words;
    this.place.redraw();
  }

  // The group with the tools that fit what is searched; null if nothing of it does.
  #found(group) {
    const words = this.#query.toLowerCase();
    if (!words || group.alias.toLowerCase().includes(words))
      return { ...group, found: group.tools };
    const found = group.tools.filter(({ tool, description }) =>
      `${tool} ${description}`.toLowerCase().includes(words),
    );
    return found.length ? { ...group, found } : null;
  }

  #turnAll(lists, groups, on) {
    for (const group of groups) {
      const isWholeGroup = group.found.length === group.tools.length;
      if (isWholeGroup) lists = withServer(lists, group, on);
      else for (const tool of group.found) lists = withTool(lists, tool, on);
    }
    return lists;
  }

  #group(draft, lists, group, names, isSmall) {
    const { alias, tools } = group;
    const shown = tools.filter((tool) => isShown(lists, tool)).length;
    const isAll = isWhole(lists, group);
    const isOpen = this.#query ? true : isSmall !== this.#opened.has(alias);
    const id = `server-${alias}`;
    const turn = (event) =>
      draft.edit((form) => setLists(form, withServer(listsOf(form), group, event.target.checked)));
    return h(
      "div",
      { key: alias, class: "group", role: "group", "aria-label": alias },
      h(
        "div",
        { class: "head" },
        h("input", {
          type: "checkbox",
          id,
          checked: tools.length ? shown > 0 : isAll,
          indeterminate: tools.length > 0 && shown > 0 && shown < tools.length,
          "aria-label": `All of ${alias}`,
          on: { change: turn },
        }),
        h("label", { for: id, class: "title" }, visible(alias)),
        small(sumOf(tools.length, shown, isAll)),
        tools.length
          ? button("Tools", () => this.#flip(this.#opened, alias), {
              class: "small fold",
              "aria-expanded": String(isOpen),
              "aria-label": `Tools of ${alias}`,
            })
          : null,
      ),
      isOpen && tools.length ? this.#tools(draft, lists, group, names) : null,
    );
  }

  #flip(set, name) {
    if (!set.delete(name)) set.add(name);
    this.place.redraw();
  }

  #tools(draft, lists, { found }, names) {
    const rest = found.length - MOST;
    return [
      h(
        "ul",
        { class: "plain ticks" },
        found.slice(0, MOST).map((tool) => this.#tool(draft, lists, tool, names)),
      ),
      rest > 0 ? quiet(`and ${rest} more; search to find them`) : null,
    ];
  }

  #tool(draft, lists, tool, names) {
    const line = `${tool.names[0]}/${tool.tool}`;
    const isOn = isShown(lists, tool);
    const isOpen = this.#edited.has(line);
    const name = names.get(line);
    const isRenamed = isOn && name && name !== `${tool.mark}${tool.tool}`;
    const turn = (event) => turnTool(draft, tool, event.target.checked);
    return h(
      "li",
      { key: line },
      h("input", { type: "checkbox", id: `tool-${line}`, checked: isOn, on: { change: turn } }),
      h(
        "div",
        null,
        h(
          "div",
          { class: "head" },
          h(
            "label",
            { for: `tool-${line}`, class: isOn ? undefined : "quiet" },
            visible(tool.tool),
          ),
          isRenamed ? tag("as ", visible(name)) : null,
          keyIn(draft.form.describe, tool) ? tag("described") : null,
          fromList(draft.form.pin).includes(line) ? tag("always listed") : null,
          button("Edit", () => this.#flip(this.#edited, line), {
            class: "small fold",
            "aria-expanded": String(isOpen),
            "aria-label": `Edit ${line}`,
          }),
        ),
        under(short(tool.description, 120)),
        isOpen ? editor(draft, tool, line) : null,
      ),
    );
  }
}

function turnTool(draft, tool, isWanted) {
  const lists = withTool(listsOf(draft.form), tool, isWanted);
  if (isShown(lists, tool) === isWanted) draft.edit((form) => setLists(form, lists));
  else {
    say("A pattern hides all of this server; change it below.", "bad");
    draft.changed();
  }
}

function sumOf(number, shown, isAll) {
  if (!number) return isAll ? "all, once it has tools" : "no tools yet";
  if (shown === number && isAll) return `all ${count(number, "tool")}`;
  return `${shown} of ${count(number, "tool")}`;
}

/** The key of a table by which a profile names a tool; undefined if it does not. */
const keyIn = (table, tool) => spellings(tool).find((text) => text in table);

// A tool in the words of the profile; what is left empty is as its server has it.
function editor(draft, tool, line) {
  const set = (key) => (text) =>
    draft.edit((form) => {
      const { [keyIn(form[key], tool) || line]: _, ...rest } = form[key];
      form[key] = text ? { ...rest, [line]: text } : rest;
    });
  const pin = (on) =>
    draft.edit((form) => {
      const others = fromList(form.pin).filter((pattern) => pattern !== line);
      form.pin = (on ? [...others, line] : others).join("\n");
    });
  const valueOf = (key) => draft.form[key][keyIn(draft.form[key], tool) || line] || "";
  return h(
    "div",
    { class: "card preview" },
    field(
      "Name for clients",
      textInput(`rename-${line}`, valueOf("rename"), set("rename"), {
        placeholder: `${tool.mark}${tool.tool}`,
      }),
    ),
    field(
      "Description for clients",
      area(`describe-${line}`, valueOf("describe"), set("describe"), {
        rows: 2,
        class: "small",
        placeholder: short(tool.description, 300),
      }),
    ),
    check(
      "Always list it, also where tools are searched",
      fromList(draft.form.pin).includes(line),
      pin,
    ),
  );
}
