// Apps: programs that run in several variants on known ports, as rows of lights.

import { h } from "../lib/dom.js";
import { looking, quiet, small, submit, tag, top } from "../lib/bits.js";
import { ask, segment, state } from "../lib/store.js";
import { button, complain, confirmed, empty, light, link, run, serverPath, time } from "../lib/parts.js";
import { count, seconds, visible } from "../lib/words.js";
import { area, field, fromLines, textInput, toLines } from "../lib/editing.js";

const LIGHTS = { connected: "ready", ready: "ready", reconnecting: "starting", connecting: "starting", detected: "known", not_detected: "disabled" };

function open(place) {
  const programs = new Map();
  const asked = new Set();
  let draft = { name: "", title: "", match: "", variants: "", path: "/mcp" };
  const blank = draft;
  const set = (key) => (text) => { draft = { ...draft, [key]: text }; place.redraw(); };

  async function define() {
    const sent = draft;
    const { name, title, match, path } = sent;
    const variants = Object.fromEntries(Object.entries(fromLines(draft.variants)).map(([each, port]) => [each, Number(port) || 0]));
    if (!await run(`${name} is looked for now.`, "PUT", `/apps/${segment(name)}`, { title, match, path, variants })) return;
    if (draft === sent) draft = blank; // else something else has been begun meanwhile
    asked.delete(name);
    place.redraw();
  }

  async function remove(app) {
    if (await confirmed(`Take away the app ${app.title}? Its variants are not looked for any more.`, "Take it away")) run(`${app.title} is not looked for any more.`, "DELETE", `/apps/${segment(app.name)}`);
  }

  function change(app) {
    draft = { ...app, variants: toLines(Object.fromEntries(app.variants.map((each) => [each.name, each.port]))) };
    const form = document.getElementById("new-app");
    form.open = true;
    form.scrollIntoView();
    place.redraw();
  }

  function form(apps) {
    const isNew = !apps?.some((app) => app.own && app.name === draft.name);
    return h("details", { key: "new", id: "new-app", class: "card" }, h("summary", null, "Define an app"),
      h("form", { on: { submit: define } },
        h("div", { class: "cols" }, field("Name", textInput("app-name", draft.name, set("name"), { required: true }), "Small letters, digits and -."), field("Title", textInput("app-title", draft.title, set("title")), "What people call it.")),
        field("Variants", area("app-variants", draft.variants, set("variants"), { class: "small", rows: 3, placeholder: "dev=3400\nstable=3200", required: true }), "name=port, one a line."),
        h("div", { class: "cols" }, field("Its server is called", textInput("app-match", draft.match, set("match")), "Part of what its MCP server calls itself; if empty, the name."), field("Path", textInput("app-path", draft.path, set("path")), "Of its MCP server.")),
        h("p", { class: "row" }, submit(isNew ? "Define it" : "Change it", !draft.name || !draft.variants.trim()), draft === blank ? null : button("Clear", () => { draft = blank; place.redraw(); }))));
  }

  async function look(name) {
    asked.add(name);
    try { programs.set(name, (await ask(`/apps/${segment(name)}/installed`)).installed); } catch (error) { complain(error); }
    place.redraw();
  }

  async function scan(app) {
    await run(`Looked at the ports of ${app.title}.`, "POST", `/apps/${segment(app.name)}/scan`);
    look(app.name);
  }

  async function launch(app, program) {
    run(`${program.label} was started; its light changes when it answers.`, "POST", `/apps/${segment(app.name)}/launch`, { label: program.label });
  }

  function variant(app, each) {
    const kind = each.conflict ? "failing" : LIGHTS[each.status] || "idle";
    const server = state.status.servers.find((row) => row.source === app.name && row.name === each.name);
    return h("li", { key: each.name },
      h("strong", null, server ? link(serverPath(server.alias), visible(each.name)) : visible(each.name)), small(` port ${each.port}`),
      h("div", null, light(kind, each.conflict ? "port taken" : visible(each.status.replaceAll("_", " ")))),
      each.tools ? h("div", { class: "quiet" }, count(each.tools, "tool")) : null,
      each.conflict ? h("p", { class: "bad" }, "Something else is there: ", visible(each.conflict)) : null,
      each.misses ? h("div", { class: "quiet" }, `missed ${count(each.misses, "time")}`) : null);
  }

  function card(app) {
    if (!asked.has(app.name)) look(app.name);
    const installed = programs.get(app.name) || [];
    return h("section", { class: "card", key: app.name, "aria-label": app.title },
      h("div", { class: "row spread" }, h("h2", null, visible(app.title || app.name), app.enabled ? null : tag("not scanned")), h("span", { class: "row" }, button("Look now", () => scan(app), { "aria-label": `Look now for ${app.title}` }),
        app.own ? [button("Change", () => change(app), { "aria-label": `Change ${app.title}` }), button("Take away", () => remove(app), { class: "danger", "aria-label": `Take away ${app.title}` })] : null)),
      h("ul", { class: "lights" }, app.variants.map((each) => variant(app, each))),
      quiet(`Looked at every ${seconds(app.interval_ms / 1000)}`, app.last_scan ? [", last ", time(app.last_scan)] : "", "."),
      installed.length ? h("div", { class: "row" }, small("Launch:"), installed.map((each) => button(visible(each.label), () => launch(app, each), { title: visible(each.command.join(" ")), "aria-label": `Launch ${each.label}` })))
        : programs.has(app.name) ? quiet("None of its programs was found on this machine, so none can be launched from here.") : null);
  }

  return () => {
    const apps = state.status?.apps;
    return [
      top("Apps", quiet("Programs that run in variants on known ports; each that runs is found by itself.")),
      !apps ? looking() : apps.length ? h("div", null, apps.map(card)) : empty("No app is defined.", h("p", null, "Define one below.")),
      form(apps),
    ];
  };
}

export const page = { path: "/ui/apps", title: () => "Apps", nav: "Apps", open };
