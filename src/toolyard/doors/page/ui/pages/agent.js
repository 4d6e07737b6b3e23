// One agent: its list in a form and as JSON, both in step, with what is wrong and what a run gets.

import { h } from "../lib/dom.js";
import { crumbs, gone, looking, quiet, sheet, top } from "../lib/bits.js";
import { ask, onPicture, order, refresh, segment } from "../lib/store.js";
import { button, complain, link, say } from "../lib/parts.js";
import { copyable } from "../lib/copying.js";
import { count, visible } from "../lib/words.js";
import { choice, faults, field, toggle } from "../lib/editing.js";
import { LIST, duplicateNames } from "../lib/lists.js";
import { addEntry, entries } from "../lib/entries.js";
import { Kept } from "../lib/kept.js";
import { overrideEditor } from "../lib/override.js";
import { drawPlan, policyWords } from "../lib/plan.js";
import { turnAgent } from "../lib/agents.js";

// The agents whose program is not called like them.
const PROGRAMS = { "claude-code": "claude", cursor: "cursor-agent" };

const commandOf = ({ id }) => `toolyard agent run ${visible(id)} -- ${visible(PROGRAMS[id] || id)}`;

// A client and an agent may be the same program; which list it sees depends on how it came here.
function start(agent) {
  const title = visible(agent.title);
  return h(
    "section",
    { class: "card", "aria-label": "Start it" },
    h("h2", null, `Give ${title} this list`),
    copyable(commandOf(agent), "command"),
    quiet(
      `Started like this, ${title} gets the servers below and nothing else. `,
      `Connected as a `,
      link("/ui/clients", "client"),
      `, it sees every server, unless you choose “the list of ${title}” there. `,
      `Transports: ${agent.transports.join(", ")}.`,
    ),
  );
}

export function open(place) {
  const id = place.params.id;
  const base = `/agents/${segment(id)}`;
  let executor = new URLSearchParams(location.search).get("executor") || "local";
  let agent = null;
  let policies = [];
  let plan = null; // what a run gets
  let missing = null; // the error, if there is no such agent
  let override = null; // what differs with this executor
  const query = () => `?executor=${segment(executor)}`;
  const list = new Kept(place, `${base}/config`, LIST, (value) =>
    order("POST", `${base}/validate${query()}`, value),
  );

  async function load() {
    try {
      [agent, { policies }] = await Promise.all([ask(base), ask("/policies"), list.load()]);
      await Promise.all([resolve(), differs()]);
      list.look();
    } catch (error) {
      if (error.status === 404) missing = error;
      else complain(error);
    }
    place.redraw();
  }

  async function resolve() {
    try {
      plan = await ask(`/resolve${query()}&agent=${segment(id)}`);
    } catch (error) {
      complain(error);
    }
    place.redraw();
  }

  async function differs() {
    override?.end();
    override = overrideEditor(place, base, executor, query(), () => {
      resolve();
      list.look();
    });
    await override.load();
    place.redraw();
  }

  async function save(over) {
    const written = await list.save(over, query());
    if (!written) return;
    say(
      written.warnings.length
        ? `Saved, with ${count(written.warnings.length, "warning")}.`
        : "Saved.",
    );
    refresh();
    resolve();
  }

  async function turn(enabled) {
    if (list.draft.isDirty) {
      list.draft.edit((form) => {
        form.enabled = enabled;
      });
      return;
    }
    await turnAgent(agent, enabled);
    list.follow().then(resolve, complain);
  }

  function go(name) {
    executor = name;
    history.replaceState(null, "", `${location.pathname}${name === "local" ? "" : query()}`);
    plan = null;
    place.redraw();
    resolve();
    differs().catch(complain);
    list.look();
  }

  function editor() {
    const { draft, said } = list;
    return sheet(
      "Its list",
      h(
        "div",
        null,
        draft.form.servers.length
          ? entries(draft, said.errors)
          : quiet("No server yet. Add one of the yard, or define one for this agent alone."),
      ),
      h(
        "p",
        { class: "row" },
        button("Add one of the yard", () => addEntry(draft, "yard")),
        button("Define one", () => addEntry(draft, "stdio")),
      ),
      draft.asJson("raw"),
    );
  }

  function told() {
    const { errors, warnings } = list.said;
    return sheet(
      "Errors and warnings",
      errors.length || warnings.length || list.draft.wrong
        ? null
        : h("p", null, `Nothing is wrong with this list on ${visible(executor)}.`),
      h(
        "ul",
        { class: "plain findings", "aria-live": "polite" },
        faults(errors, "error"),
        faults(warnings, "warning"),
      ),
    );
  }

  function aside() {
    const holds = policies.find((row) => row.executor === executor);
    return h(
      "div",
      null,
      h(
        "section",
        { class: "card", "aria-label": "Where it runs" },
        field(
          "Where it runs",
          choice(
            "executor",
            executor,
            policies.map((row) => [row.executor, visible(row.executor)]),
            go,
          ),
        ),
        holds
          ? quiet(
              `${visible(executor)}: ${policyWords(holds.policy)} `,
              link(`/ui/policies/${segment(executor)}`, "Change the policy"),
            )
          : null,
      ),
      told(),
      sheet(
        "What a run gets",
        list.draft.isDirty ? quiet("By the list as it is saved; save to see yours.") : null,
        drawPlan(plan),
      ),
    );
  }

  onPicture(place, () => {
    if (!agent) return;
    list.follow().catch(() => {});
    override?.follow().catch(() => {});
    resolve();
  });
  load();

  return () => {
    if (missing) return gone(missing, "/ui/agents", "See all agents");
    if (!agent || !list.draft) return looking();
    return [
      crumbs("/ui/agents", "Agents"),
      top(
        visible(agent.title),
        "",
        toggle("enabled", "Give it its servers", list.draft.form.enabled, turn),
      ),
      start(agent),
      list.clash("list", save),
      h(
        "div",
        { key: "two", class: "two agent" },
        h("div", null, editor(), override?.draw(list.draft.form)),
        aside(),
      ),
      list.bar(
        list.said.errors.length || duplicateNames(list.draft.form).length,
        save,
        list.said.errors.length
          ? h("span", { class: "bad" }, `${count(list.said.errors.length, "error")}.`)
          : null,
      ),
    ];
  };
}
