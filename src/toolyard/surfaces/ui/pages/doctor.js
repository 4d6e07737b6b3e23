// Doctor: everything that may be wrong, with what to do; the same that `toolyard doctor` looks at.

import { h } from "../lib/dom.js";
import { facts, looking, quiet, sheet, small, top } from "../lib/bits.js";
import { ask, order, refresh, state } from "../lib/store.js";
import { button, complain, light, lightOf, link, problems, serverPath } from "../lib/parts.js";
import { count, visible } from "../lib/words.js";

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
    const known = new Set(status.problems.map((each) => each.text));
    return [
      ...status.problems, ...asked.catalog.filter((each) => !known.has(each.text)),
      ...asked.clients.filter((each) => each.problem).map((each) => ({ text: `${each.title}: ${each.problem}`, hint: `look at ${each.file}`, to: "/ui/clients" })),
      ...asked.executors.filter((each) => each.out_of_reach).map((each) => ({ text: `executor ${each.name}: ${each.out_of_reach}`, hint: "try it", to: "/ui/executors" })),
    ];
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
    if (!status || !asked) return looking();
    const bad = findings(status);
    return [
      top("Doctor", button(isBusy ? "Looking …" : "Look again", again, { disabled: isBusy })),
      h("p", { class: "title", role: "status" }, bad.length ? `${bad.length} to mend.` : "All is well."),
      problems(bad, status.servers, "To mend"),
      sheet("What is well", well(status)),
      h("section", { class: "card", "aria-label": "Settings" }, h("h2", null, "Settings that are not as usual"),
        changed().length ? facts(changed().map((each) => [visible(each.name), [h("code", null, each.value === null ? "not shown" : visible(JSON.stringify(each.value))), small(each.origin === "flag" ? " by a flag" : ` by ${each.variable}`)]])) : quiet("All are as usual.")),
    ];
  };
}

export const page = { path: "/ui/doctor", title: () => "Doctor", nav: "Doctor", open };
