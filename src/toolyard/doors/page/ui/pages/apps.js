// Apps: programs that run in several variants on known ports, as rows of lights.

import { byId, h } from "../lib/dom.js";
import { looking, quiet, small, submit, tag, top } from "../lib/bits.js";
import { ask, segment, state } from "../lib/store.js";
import { button, complain, confirmed, empty, light, link, run, time } from "../lib/parts.js";
import { count, seconds, visible } from "../lib/words.js";
import { area, field, fromLines, textInput, toLines } from "../lib/editing.js";
import { serverPath } from "../lib/paths.js";

const LIGHTS = {
  connected: "ready",
  ready: "ready",
  reconnecting: "starting",
  connecting: "starting",
  detected: "known",
  not_detected: "disabled",
};

export function open(place) {
  const programs = new Map();
  const asked = new Set();
  let draft = { name: "", title: "", match: "", variants: "", path: "/mcp" };
  const blank = draft;
  const set = (key) => (text) => {
    draft = { ...draft, [key]: text };
    place.redraw();
  };

  async function define() {
    const sent = draft;
    const { name, title, match, path } = sent;
    const lines = Object.entries(fromLines(draft.variants));
    const variants = Object.fromEntries(
      lines.map(([variant, port]) => [variant, Number(port) || 0]),
    );
    const body = { title, match, path, variants };
    if (!(await run(`${name} is looked for now.`, "PUT", `/apps/${segment(name)}`, body))) return;
    if (draft === sent) draft = blank; // else something else has been begun meanwhile
    asked.delete(name);
    place.redraw();
  }

  async function remove(app) {
    const question = `Take away the app ${app.title}? Its variants are not looked for any more.`;
    if (await confirmed(question, "Take it away"))
      run(`${app.title} is not looked for any more.`, "DELETE", `/apps/${segment(app.name)}`);
  }

  function change(app) {
    const ports = Object.fromEntries(app.variants.map((variant) => [variant.name, variant.port]));
    draft = { ...app, variants: toLines(ports) };
    const form = /** @type {HTMLDetailsElement} */ (byId("new-app"));
    form.open = true;
    form.scrollIntoView();
    place.redraw();
  }

  function form(apps) {
    const isNew = !apps?.some((app) => app.own && app.name === draft.name);
    return h(
      "details",
      { key: "new", id: "new-app", class: "card" },
      h("summary", null, "Define an app"),
      h(
        "form",
        { on: { submit: define } },
        h(
          "div",
          { class: "cols" },
          field(
            "Name",
            textInput("app-name", draft.name, set("name"), { required: true }),
            "Small letters, digits and -.",
          ),
          field("Title", textInput("app-title", draft.title, set("title")), "Its display name."),
        ),
        field(
          "Variants",
          area("app-variants", draft.variants, set("variants"), {
            class: "small",
            rows: 3,
            placeholder: "dev=3400\nstable=3200",
            required: true,
          }),
          "name=port, one per line.",
        ),
        h(
          "div",
          { class: "cols" },
          field(
            "Its server is called",
            textInput("app-match", draft.match, set("match")),
            "Part of what its MCP server calls itself; if empty, the name.",
          ),
          field("Path", textInput("app-path", draft.path, set("path")), "Of its MCP server."),
        ),
        h(
          "p",
          { class: "row" },
          submit(isNew ? "Define it" : "Change it", !draft.name || !draft.variants.trim()),
          draft === blank
            ? null
            : button("Clear", () => {
                draft = blank;
                place.redraw();
              }),
        ),
      ),
    );
  }

  async function look(name) {
    asked.add(name);
    try {
      programs.set(name, (await ask(`/apps/${segment(name)}/installed`)).installed);
    } catch (error) {
      complain(error);
    }
    place.redraw();
  }

  async function scan(app) {
    await run(`Looked at the ports of ${app.title}.`, "POST", `/apps/${segment(app.name)}/scan`);
    look(app.name);
  }

  async function launch(app, program) {
    run(
      `${program.label} was started; its light changes when it answers.`,
      "POST",
      `/apps/${segment(app.name)}/launch`,
      { label: program.label },
    );
  }

  function drawVariant(app, variant) {
    const kind = variant.conflict ? "failing" : LIGHTS[variant.status] || "idle";
    const server = state.status.servers.find(
      (row) => row.source === app.name && row.name === variant.name,
    );
    return h(
      "li",
      { key: variant.name },
      h(
        "strong",
        null,
        server ? link(serverPath(server.alias), visible(variant.name)) : visible(variant.name),
      ),
      small(` port ${variant.port}`),
      h(
        "div",
        null,
        light(kind, variant.conflict ? "port taken" : visible(variant.status.replaceAll("_", " "))),
      ),
      variant.tools ? h("div", { class: "quiet" }, count(variant.tools, "tool")) : null,
      variant.conflict
        ? h("p", { class: "bad" }, "Something else is there: ", visible(variant.conflict))
        : null,
      variant.misses
        ? h("div", { class: "quiet" }, `missed ${count(variant.misses, "time")}`)
        : null,
    );
  }

  function launchers(app) {
    const installed = programs.get(app.name);
    if (!installed) return null;
    if (!installed.length)
      return quiet(
        "None of its programs was found on this machine, so none can be launched from here.",
      );
    return h(
      "div",
      { class: "row" },
      small("Launch:"),
      installed.map((program) => {
        const attrs = {
          title: visible(program.command.join(" ")),
          "aria-label": `Launch ${program.label}`,
        };
        return button(visible(program.label), () => launch(app, program), attrs);
      }),
    );
  }

  function list(apps) {
    if (!apps) return looking();
    if (!apps.length) return empty("No app is defined.", h("p", null, "Define one below."));
    return h("div", null, apps.map(card));
  }

  function card(app) {
    if (!asked.has(app.name)) look(app.name);
    return h(
      "section",
      { class: "card", key: app.name, "aria-label": app.title },
      h(
        "div",
        { class: "row spread" },
        h("h2", null, visible(app.title || app.name), app.enabled ? null : tag("not scanned")),
        h(
          "span",
          { class: "row" },
          button("Look now", () => scan(app), { "aria-label": `Look now for ${app.title}` }),
          app.own
            ? [
                button("Change", () => change(app), { "aria-label": `Change ${app.title}` }),
                button("Take away", () => remove(app), {
                  class: "danger",
                  "aria-label": `Take away ${app.title}`,
                }),
              ]
            : null,
        ),
      ),
      h(
        "ul",
        { class: "lights" },
        app.variants.map((variant) => drawVariant(app, variant)),
      ),
      quiet(
        `Looked at every ${seconds(app.interval_ms / 1000)}`,
        app.last_scan ? [", last ", time(app.last_scan)] : "",
        ".",
      ),
      launchers(app),
    );
  }

  return () => {
    const apps = state.status?.apps;
    return [
      top(
        "Apps",
        "Programs that run in several variants, each on a port of its own. The hub finds those that run.",
      ),
      list(apps),
      form(apps),
    ];
  };
}
