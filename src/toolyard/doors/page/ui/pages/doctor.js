// Doctor: everything that may be wrong, with what to do; the same that `toolyard doctor` looks at.

import { h } from "../lib/dom.js";
import { looking, sheet, top } from "../lib/bits.js";
import { ask, order, refresh, state } from "../lib/store.js";
import { button, complain, light, link } from "../lib/parts.js";
import { problems } from "../lib/problems.js";
import { count, visible } from "../lib/words.js";
import { serverPath } from "../lib/paths.js";

function clientProblem({ title, problem, file }) {
  return { text: `${title}: ${problem}`, hint: `look at ${file}`, to: "/ui/clients" };
}

function executorProblem({ name, out_of_reach: reason }) {
  return { text: `executor ${name}: ${reason}`, hint: "try it", to: "/ui/executors" };
}

export function open(place) {
  let asked = null; // what the API said when it was last asked
  let isBusy = false;

  async function look() {
    isBusy = true;
    place.redraw();
    try {
      const [clients, executors, catalog] = await Promise.all([
        ask("/clients"),
        ask("/executors"),
        ask("/catalog?added=true"),
      ]);
      asked = {
        clients: clients.clients,
        executors: executors.executors,
        catalog: catalog.problems,
      };
    } catch (error) {
      complain(error);
    }
    isBusy = false;
    place.redraw();
  }

  async function again() {
    try {
      await order("POST", "/refresh");
    } catch (error) {
      complain(error);
    }
    refresh();
    look();
  }

  function findings(status) {
    const known = new Set(status.problems.map((problem) => problem.text));
    return [
      ...status.problems,
      ...asked.catalog.filter((problem) => !known.has(problem.text)),
      ...asked.clients.filter((client) => client.problem).map(clientProblem),
      ...asked.executors.filter((executor) => executor.out_of_reach).map(executorProblem),
    ];
  }

  function well(status) {
    const lines = [
      h(
        "li",
        null,
        `The hub runs at ${status.url}, version ${status.version}, process ${status.pid}.`,
      ),
    ];
    for (const server of status.servers) {
      if (!server.enabled || server.problem) continue;
      const tools = server.tools ? `, ${count(server.tools, "tool")}` : "";
      lines.push(
        h(
          "li",
          { key: server.alias, class: "row spread" },
          link(serverPath(server.alias), visible(server.alias)),
          light(server.state, `${server.state}${tools}`),
        ),
      );
    }
    for (const app of status.apps || []) {
      const ports = app.variants.map((variant) => variant.port).join(", ") || "none";
      lines.push(h("li", null, `Ports watched for ${visible(app.title)}: ${ports}.`));
    }
    const connected = asked.clients
      .filter((client) => client.connected)
      .map((client) => client.title);
    lines.push(
      h(
        "li",
        null,
        connected.length
          ? `Connected clients: ${visible(connected.join(", "))}.`
          : ["No client is connected. ", link("/ui/clients", "Connect one")],
      ),
    );
    return h("ul", { class: "plain" }, lines);
  }

  look();
  return () => {
    const { status } = state;
    if (!status || !asked) return looking();
    const bad = findings(status);
    return [
      top("Doctor", "", button(isBusy ? "Looking …" : "Look again", again, { disabled: isBusy })),
      h(
        "p",
        { class: "title", role: "status" },
        bad.length ? `${count(bad.length, "problem")}.` : "No problems.",
      ),
      problems(bad, status.servers, "Problems"),
      sheet("What works", well(status)),
    ];
  };
}
