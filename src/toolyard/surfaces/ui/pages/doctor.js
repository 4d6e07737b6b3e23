// Doctor: everything that may be wrong, with what to do; the same that `toolyard doctor` looks at.

import { h } from "../lib/dom.js";
import { ask, order, refresh, state } from "../lib/store.js";
import { button, complain, light, lightOf, link, mend, serverPath } from "../lib/parts.js";
import { count, visible } from "../lib/words.js";

const wrong = (text, hint = "", more = {}) => ({ text, hint, ...more });

function open(place) {
  let asked = null, isBusy = false;

  async function look() {
    isBusy = true;
    place.redraw();
    try {
      const [clients, executors, catalog, settings] = await Promise.all([ask("/clients"), ask("/executors"), ask("/catalog?added=true"), ask("/settings")]);
      asked = { clients: clients.clients, executors: executors.executors, catalog: catalog.problems, settings: settings.settings };
    } catch (error) { complain(error); }
    isBusy = false;
    place.redraw();
  }

  async function again() {
    try { await order("POST", "/refresh"); } catch (error) { complain(error); }
    refresh();
    look();
  }

  function findings(status) {
    const found = status.problems.map((each) => wrong(each.text, each.hint, { problem: each, server: status.servers.find((row) => `${row.name}@${row.source}` === each.subject) }));
    const known = new Set(status.problems.map((each) => each.text));
    for (const each of asked.catalog) if (!known.has(each.text)) found.push(wrong(each.text, each.hint));
    for (const each of asked.clients) if (each.problem) found.push(wrong(`${each.title}: ${each.problem}`, `look at ${each.file}`, { to: "/ui/clients" }));
    for (const each of asked.executors) if (each.out_of_reach) found.push(wrong(`executor ${each.name}: ${each.out_of_reach}`, "try it", { to: "/ui/executors" }));
    return found;
  }

  function well(status) {
    const lines = [h("li", null, `The hub runs at ${status.url}, version ${status.version}, process ${status.pid}.`)];
    for (const server of status.servers) if (server.enabled && !server.problem) lines.push(h("li", { key: server.alias }, link(serverPath(server.alias), visible(server.alias)), " ", light(lightOf(server)), server.tools ? `, ${count(server.tools, "tool")}` : ""));
    for (const app of status.apps || []) lines.push(h("li", null, `The app ${visible(app.title)} is looked for at ${app.variants.map((each) => each.port).join(", ") || "no port"}.`));
    const connected = asked.clients.filter((each) => each.connected).map((each) => each.title);
    lines.push(h("li", null, connected.length ? `Connected: ${visible(connected.join(", "))}.` : ["No client is connected. ", link("/ui/clients", "Connect one")]));
    return h("ul", { class: "plain" }, lines);
  }

  const changed = () => asked.settings.filter((each) => each.origin !== "default");
  look();
  return () => {
    const { status } = state;
    if (!status || !asked) return h("p", { class: "quiet" }, "Looking …");
    const bad = findings(status);
    return [
      h("div", { class: "top" }, h("h1", null, "Doctor"), button(isBusy ? "Looking …" : "Look again", again, { disabled: isBusy })),
      h("p", { class: "title", role: "status" }, bad.length ? `${bad.length} to mend.` : "All is well."),
      h("ul", { class: "problems", "aria-label": "To mend" }, bad.map((each) => h("li", { key: each.text },
        h("div", null, h("p", { class: "title" }, each.server ? [link(serverPath(each.server.alias), visible(each.server.alias)), " — "] : null, visible(each.text)), h("p", { class: "quiet" }, visible(each.hint))),
        each.to ? link(each.to, "See it") : each.problem ? mend(each.problem, each.server) : null))),
      h("section", { class: "card", "aria-label": "What is well" }, h("h2", null, "What is well"), well(status)),
      h("section", { class: "card", "aria-label": "Settings" }, h("h2", null, "Settings that are not as usual"),
        changed().length ? h("dl", { class: "facts" }, changed().map((each) => [h("dt", null, visible(each.name)), h("dd", null, h("code", null, each.value === null ? "not shown" : visible(JSON.stringify(each.value))), h("span", { class: "quiet" }, each.origin === "flag" ? " by a flag" : ` by ${each.variable}`))])) : h("p", { class: "quiet" }, "All are as usual.")),
    ];
  };
}

export const page = { path: "/ui/doctor", title: () => "Doctor", nav: "Doctor", open };
