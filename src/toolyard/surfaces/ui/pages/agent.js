// One agent: its list in a form and as JSON, both in step, with what is wrong and what a run gets.

import { h } from "../lib/dom.js";
import { ask, listen, order, refresh, segment, state } from "../lib/store.js";
import { button, complain, empty, link, say } from "../lib/parts.js";
import { count, visible } from "../lib/words.js";
import { area, choice, faults, field, pretty, textInput, toggle } from "../lib/editing.js";
import { MODES, TYPES, doubled, newServer, readList, writeList } from "../lib/lists.js";
import { clash, rowsOf, saveBar } from "../lib/draft.js";
import { readRecord, writeRecord } from "../lib/records.js";
import { plan, policyWords } from "../lib/plan.js";
import { setEnabled } from "./agents.js";

const drafts = new Map(); // what was typed and not saved stays, also when one looks elsewhere
const PAUSE = 250; // a check for each letter would be in the way of the next

function warnLeaving(event) {
  if (drafts.size) event.preventDefault();
}
addEventListener("beforeunload", warnLeaving);

function open(place) {
  const id = place.params.id;
  const base = `/agents/${segment(id)}`;
  let executor = new URLSearchParams(location.search).get("executor") || "local";
  let agent = null, policies = [], made = null, missing = null, override = null;
  let draft = drafts.get(id) || null;
  let findings = { errors: [], warnings: [] };
  let checking = null, asked = 0, conflict = false, wrongJson = "", undo = null;

  const policy = () => policies.find((each) => each.executor === executor);
  const value = () => (wrongJson ? null : JSON.parse(draft.text));

  async function load() {
    try {
      [agent, { policies }] = await Promise.all([ask(base), ask("/policies")]);
      if (!draft) await read();
      await Promise.all([resolve(), differs()]);
      check();
    } catch (error) {
      if (error.status === 404) missing = error;
      else complain(error);
    }
    place.redraw();
  }

  async function read() {
    adopt(await readRecord(`${base}/config`));
  }

  // What others write is shown at once, unless something is being written here.
  async function follow() {
    const record = await readRecord(`${base}/config`);
    if (!draft || draft.isDirty || record.version === draft.version) return;
    adopt(record);
    check();
  }

  function adopt({ value, version }) {
    const list = readList(value, draft?.list.servers);
    draft = { list, version, text: pretty(writeList(list)), isDirty: false };
    conflict = false;
    wrongJson = "";
    drafts.delete(id);
  }

  async function resolve() {
    try { made = await ask(`/resolve?agent=${segment(id)}&executor=${segment(executor)}`); } catch (error) { complain(error); }
    place.redraw();
  }

  async function differs() {
    override = agent.overrides.includes(executor) ? (await readRecord(`${base}/overrides/${segment(executor)}`)).value : null;
  }

  function check() {
    clearTimeout(checking);
    checking = setTimeout(async () => {
      if (wrongJson) return;
      const mine = asked += 1;
      try {
        const found = await order("POST", `${base}/validate?executor=${segment(executor)}`, value());
        if (mine === asked) { findings = found; place.redraw(); }
      } catch (error) { complain(error); }
    }, PAUSE);
  }

  function changed() {
    undo = null;
    draft.isDirty = true;
    drafts.set(id, draft);
    place.redraw();
    check();
  }

  // The form speaks: the JSON follows.
  function edit(change) {
    change(draft.list);
    draft.text = pretty(writeList(draft.list));
    wrongJson = "";
    changed();
  }

  // The JSON speaks: the form follows, as soon as it is JSON.
  function type(text) {
    draft.text = text;
    try {
      draft.list = readList(JSON.parse(text), draft.list.servers);
      wrongJson = "";
    } catch (error) { wrongJson = error.message; }
    changed();
  }

  async function save(over) {
    try {
      const written = await writeRecord("PUT", `${base}/config?executor=${segment(executor)}`, value(), over ? "" : draft.version);
      say(written.value.warnings.length ? `Saved, with ${count(written.value.warnings.length, "warning")}.` : "Saved.");
      draft = null;
      drafts.delete(id);
      refresh();
      await load();
    } catch (error) {
      if (error.status === 412) conflict = true;
      else {
        if (error.errors.length) findings = { ...findings, errors: error.errors };
        complain(error);
      }
      place.redraw();
    }
  }

  async function turn(enabled) {
    if (draft.isDirty) { edit((list) => { list.enabled = enabled; }); return; }
    try {
      await setEnabled(id, enabled);
      say(enabled ? `${agent.title} is given its servers.` : `${agent.title} is given none.`);
      await read();
      await resolve();
      refresh();
    } catch (error) { complain(error); }
  }

  async function discard() {
    const before = draft;
    await read();
    check();
    place.redraw();
    say("What was not saved is gone.");
    undo = () => { draft = before; undo = null; changed(); };
  }
  function go(name) {
    executor = name;
    history.replaceState(null, "", `${location.pathname}${name === "local" ? "" : `?executor=${segment(name)}`}`);
    made = null;
    place.redraw();
    resolve();
    differs().then(place.redraw, complain);
    check();
  }

  function definition(server, of) {
    const set = (key) => (text) => edit(() => { server[key] = text; });
    const lines = (key, label, help) => (server.odd[key] ? h("p", { class: "quiet" }, `${label}: more than lines can hold; see the JSON.`)
      : field(label, area(`${of}-${key}`, server[key], set(key), { rows: rowsOf(server[key]), class: "small" }), help));
    if (server.type === "yard") {
      const known = [...new Set([...(state.status?.servers || []).map((each) => each.alias), ...(server.server ? [server.server] : [])])];
      return field("Which", choice(`${of}-server`, server.server, [["", "Choose …"], ...known.map((name) => [name, visible(name)])], set("server")));
    }
    if (server.type === "stdio") {
      return [
        field("Command", textInput(`${of}-command`, server.command, set("command"))),
        lines("args", "Arguments", "One a line."), lines("env", "Environment", "NAME=value, one a line; secrets as ${keyring:name}."),
        field("Folder", textInput(`${of}-cwd`, server.cwd, set("cwd"))),
      ];
    }
    return [field("Address", textInput(`${of}-url`, server.url, set("url"), { placeholder: "https://host/mcp" })), lines("headers", "Headers", "Name: value, one a line.")];
  }

  function serverForm(server) {
    const of = `server-${server.key}`;
    const wrong = findings.errors.some((each) => each.server === server.name);
    const types = TYPES.some(([each]) => each === server.type) ? TYPES : [...TYPES, [server.type, visible(server.type)]];
    const isTwice = doubled(draft.list).includes(server.name);
    return h("fieldset", { key: server.key, class: `entry${wrong || isTwice ? " wrong" : ""}` },
      h("legend", null, visible(server.name) || "a new server"),
      h("div", { class: "cols" },
        field("Name", textInput(`${of}-name`, server.name, (text) => edit(() => { server.name = text; }), { "aria-invalid": isTwice ? "true" : undefined })),
        field("What", choice(`${of}-type`, server.type, types, (value) => edit(() => { server.type = value; }))),
        field("Mode", choice(`${of}-mode`, server.mode, MODES, (value) => edit(() => { server.mode = value; })))),
      isTwice ? h("p", { class: "bad" }, "Two servers have this name; one of them would be lost.") : null,
      definition(server, of),
      h("p", { class: "row end" }, button("Take out", () => edit((list) => { list.servers = list.servers.filter((each) => each !== server); }), { "aria-label": `Take out ${server.name || "the new server"}` })));
  }

  function add(kind) {
    edit((list) => {
      const names = new Set(list.servers.map((each) => each.name));
      let name = "server";
      for (let n = 2; names.has(name); n += 1) name = `server-${n}`;
      list.servers.push({ ...newServer(name), type: kind });
    });
  }

  function editor() {
    const { list } = draft;
    return h("section", { class: "card", "aria-label": "Its list" },
      h("h2", null, "Its list"),
      h("div", null, list.servers.length ? list.servers.map(serverForm) : h("p", { class: "quiet" }, "No server yet. Add one of the yard, or define one for this agent alone.")),
      h("p", { class: "row" }, button("Add one of the yard", () => add("yard")), button("Define one", () => add("stdio"))),
      h("details", { class: "json" }, h("summary", null, "As JSON"),
        field("The same list as JSON", area("raw", draft.text, type, { class: "raw", rows: 16, "aria-invalid": wrongJson ? "true" : undefined, "aria-describedby": "raw-wrong" })),
        h("p", { id: "raw-wrong", class: "bad" }, wrongJson ? `This is no list yet: ${visible(wrongJson)}. The form shows the last that was one.` : "")));
  }

  function bar() {
    const wrong = findings.errors.length;
    return saveBar(draft.isDirty, wrongJson || wrong || doubled(draft.list).length, () => save(false),
      draft.isDirty ? button("Discard changes", discard) : null,
      undo ? button("Undo discarding", undo) : null,
      wrong ? h("span", { class: "bad" }, `${count(wrong, "error")}.`) : null);
  }

  function told() {
    const all = [...findings.errors, ...findings.warnings];
    return h("section", { class: "card", "aria-label": "Errors and warnings" }, h("h2", null, "Errors and warnings"),
      all.length || wrongJson ? null : h("p", null, `Nothing is wrong with this list on ${visible(executor)}.`),
      h("ul", { class: "plain findings", "aria-live": "polite" }, faults(findings.errors, "error"), faults(findings.warnings, "warning")));
  }

  function aside() {
    const holds = policy();
    return h("div", null,
      h("section", { class: "card", "aria-label": "Where it runs" },
        field("Where it runs", choice("executor", executor, policies.map((each) => [each.executor, visible(each.executor)]), go)),
        holds ? h("p", { class: "quiet" }, `${visible(executor)}: ${policyWords(holds.policy)} `, link(`/ui/policies/${segment(executor)}`, "Change the policy")) : null,
        override ? h("details", null, h("summary", null, `Something differs on ${visible(executor)}`), h("pre", { tabindex: "0" }, visible(pretty(override)))) : null),
      told(),
      h("section", { class: "card", "aria-label": "What a run gets" }, h("h2", null, "What a run gets"),
        draft.isDirty ? h("p", { class: "quiet" }, "By the list as it is saved; save to see yours.") : null, plan(made)));
  }

  let last = -1;
  place.onLeave(listen((kind, said) => {
    if (kind !== "picture" || said.revision === last) return;
    last = said.revision;
    if (!agent) return;
    follow().catch(() => {});
    resolve();
  }));
  place.onLeave(() => clearTimeout(checking));
  load();

  return () => {
    if (missing) return empty(visible(missing.message), h("p", null, visible(missing.hint)), h("p", null, link("/ui/agents", "See all agents")));
    if (!agent || !draft) return h("p", { class: "quiet" }, "Looking …");
    return [
      h("p", { class: "crumbs" }, link("/ui/agents", "Agents")),
      h("div", { class: "top" }, h("h1", null, visible(agent.title)), toggle("enabled", "Give it its servers", draft.list.enabled, turn)),
      h("p", { class: "quiet" }, `Takes ${agent.transports.join(", ")}. Start it with its servers: `, h("code", null, `toolyard run ${visible(agent.id)}`)),
      conflict ? clash("list", discard, () => save(true)) : null,
      h("div", { key: "two", class: "two agent" }, editor(), aside()),
      bar(),
    ];
  };
}

export const page = { path: "/ui/agents/:id", title: (params) => params.id, open };
