// Apps: programs that run in several variants on known ports, as rows of lights.

import { h } from "../lib/dom.js";
import { looking, quiet, small, tag } from "../lib/bits.js";
import { ask, order, segment, state } from "../lib/store.js";
import { button, complain, empty, light, link, say, serverPath, time } from "../lib/parts.js";
import { count, seconds, visible } from "../lib/words.js";

const LIGHTS = { connected: "ready", ready: "ready", reconnecting: "starting", connecting: "starting", detected: "known", not_detected: "disabled" };

function open(place) {
  const programs = new Map();
  const asked = new Set();

  async function look(name) {
    asked.add(name);
    try { programs.set(name, (await ask(`/apps/${segment(name)}/installed`)).installed); } catch (error) { complain(error); }
    place.redraw();
  }

  async function scan(app) {
    try {
      await order("POST", `/apps/${segment(app.name)}/scan`);
      say(`Looked at the ports of ${app.title}.`);
      await look(app.name);
    } catch (error) { complain(error); }
  }

  async function launch(app, program) {
    try {
      await order("POST", `/apps/${segment(app.name)}/launch`, { label: program.label });
      say(`${program.label} was started; its light changes when it answers.`);
    } catch (error) { complain(error); }
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
      h("div", { class: "row spread" }, h("h2", null, visible(app.title || app.name), app.enabled ? null : tag("not scanned")), button("Look now", () => scan(app), { "aria-label": `Look now for ${app.title}` })),
      h("ul", { class: "lights" }, app.variants.map((each) => variant(app, each))),
      quiet(`Looked at every ${seconds(app.interval_ms / 1000)}`, app.last_scan ? [", last ", time(app.last_scan)] : "", "."),
      installed.length ? h("div", { class: "row" }, small("Launch:"), installed.map((each) => button(visible(each.label), () => launch(app, each), { title: visible(each.command.join(" ")), "aria-label": `Launch ${each.label}` })))
        : programs.has(app.name) ? quiet("None of its programs was found on this machine, so none can be launched from here.") : null);
  }

  return () => {
    const apps = state.status?.apps;
    return [
      h("div", { class: "top" }, h("h1", null, "Apps"), quiet("Programs that run in variants on known ports; each that runs is found by itself.")),
      !apps ? looking() : apps.length ? h("div", null, apps.map(card)) : empty("No app is defined."),
      quiet("Define one on a terminal: ", h("code", null, "toolyard app add NAME --variant dev=3400 --variant stable=3200")),
    ];
  };
}

export const page = { path: "/ui/apps", title: () => "Apps", nav: "Apps", open };
