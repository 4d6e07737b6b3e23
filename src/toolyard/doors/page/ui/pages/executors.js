// Executors: places where servers run, named, tried and forgotten.

import { h } from "../lib/dom.js";
import { facts, looking, quiet, small, submit, tag, top } from "../lib/bits.js";
import { ask, order, segment } from "../lib/store.js";
import { button, complain, confirmed, empty, link, run } from "../lib/parts.js";
import { ms, visible } from "../lib/words.js";
import { area, choice, field, fromLines, textInput, toLines } from "../lib/editing.js";
import { policyPath } from "../lib/paths.js";

const TYPES = [
  ["docker", "docker"],
  ["ssh", "ssh"],
  ["kubernetes", "kubernetes"],
];
const HOSTS = {
  docker: "unix:///run/docker.sock, tcp://box:2376 or ssh://user@box; empty for this machine's.",
  ssh: "ssh://user@box",
  kubernetes: "The context of your kubeconfig; empty for the current one.",
};

const limit = (text) => (text === "" ? null : Number(text));
const most = (value, unit) => (value == null ? "" : `${value || "any"} ${unit}`);

export function open(place) {
  let rows = null;
  let kinds = [];
  let draft = fresh();
  const tried = new Map();

  function fresh() {
    return { name: "", type: "docker", host: "", options: "", running: "", memory: "" };
  }
  const set = (key) => (text) => {
    draft = { ...draft, [key]: text };
    place.redraw();
  };

  async function load() {
    try {
      const answer = await ask("/executors");
      rows = answer.executors;
      kinds = answer.kinds;
    } catch (error) {
      complain(error);
    }
    place.redraw();
  }

  async function put(name, body, words) {
    const sent = draft;
    if ((await run(words, "PUT", `/executors/${segment(name)}`, body)) && draft === sent)
      draft = fresh();
    load();
  }

  async function forget(row) {
    if (
      !(await confirmed(
        `Forget the executor ${row.name}? What names it will not find it any more.`,
        "Forget it",
      ))
    )
      return;
    await run(`${row.name} is forgotten.`, "DELETE", `/executors/${segment(row.name)}`);
    load();
  }

  async function test(row) {
    tried.set(row.name, { isBusy: true });
    place.redraw();
    try {
      tried.set(row.name, await order("POST", `/executors/${segment(row.name)}/test`, {}));
    } catch (error) {
      tried.set(row.name, {
        ok: false,
        steps: [],
        failed: error.message,
        hint: error.hint,
        notes: [],
      });
    }
    place.redraw();
  }

  function change(row) {
    draft = {
      name: row.name,
      type: row.type,
      host: row.host,
      options: toLines(row.options),
      running: row.running_limit ?? "",
      memory: row.memory_limit ?? "",
    };
    place.redraw();
  }

  function trial(found) {
    if (!found) return null;
    if (found.isBusy) return h("p", { class: "quiet", role: "status" }, "Trying …");
    return h(
      "div",
      { role: "status" },
      h(
        "ol",
        { class: "steps" },
        found.steps.map((step) =>
          h("li", null, visible(step.text), small(` ${ms(step.seconds * 1000)}`)),
        ),
      ),
      found.ok
        ? h("p", null, "It works.")
        : [h("p", { class: "bad" }, visible(found.failed)), quiet(visible(found.hint))],
      found.notes.map((note) => quiet(visible(note))),
    );
  }

  function card(row) {
    const options = Object.entries(row.options);
    return h(
      "section",
      { class: "card", key: row.name, "aria-label": row.name },
      h(
        "div",
        { class: "row spread" },
        h("h2", null, visible(row.name), tag(visible(row.type))),
        h(
          "span",
          { class: "row" },
          button("Try it", () => test(row)),
          button("Change", () => change(row)),
          button("Forget", () => forget(row), { class: "danger" }),
        ),
      ),
      facts([
        ["Where", visible(row.host) || "this machine's own"],
        ["Options", visible(options.map(([key, value]) => `${key}=${value}`).join(", "))],
        [
          "Limits",
          [most(row.running_limit, "servers"), most(row.memory_limit, "MB")]
            .filter(Boolean)
            .join(", "),
        ],
        [
          "Policy",
          link(
            policyPath(row.name),
            row.policy_of === row.name ? "its own" : visible(row.policy_of),
          ),
        ],
        ["The hub from there", row.reached_at ? h("code", null, visible(row.reached_at)) : ""],
      ]),
      row.out_of_reach ? h("p", { class: "bad" }, visible(row.out_of_reach)) : null,
      trial(tried.get(row.name)),
    );
  }

  const number = (title, key) =>
    field(
      title,
      textInput(`executor-${key}`, draft[key], set(key), {
        inputmode: "numeric",
        pattern: "[0-9]*",
      }),
      "At most; 0 for no limit, empty for the hub's own.",
    );

  function form() {
    const isNew = !rows?.some((row) => row.name === draft.name);
    const send = () => {
      const limits = { running_limit: limit(draft.running), memory_limit: limit(draft.memory) };
      const body = {
        type: draft.type,
        host: draft.host,
        options: fromLines(draft.options),
        ...limits,
      };
      put(
        draft.name,
        body,
        isNew ? `${draft.name} is added. Try it.` : `${draft.name} is changed.`,
      );
    };
    return h(
      "form",
      { key: "new", class: "card", on: { submit: send } },
      h("h2", null, isNew ? "Add an executor" : `Change ${visible(draft.name)}`),
      h(
        "div",
        { class: "cols" },
        field("Name", textInput("executor-name", draft.name, set("name"), { required: true })),
        field("Type", choice("executor-type", draft.type, TYPES, set("type"))),
      ),
      field("Host", textInput("executor-host", draft.host, set("host")), HOSTS[draft.type]),
      field(
        "Options",
        area("executor-options", draft.options, set("options"), { class: "small", rows: 2 }),
        "name=value, one per line; for example image=python:3.12 or namespace=tools.",
      ),
      h("div", { class: "cols" }, number("Servers", "running"), number("Memory, MB", "memory")),
      h(
        "p",
        { class: "row" },
        submit(isNew ? "Add it" : "Save", !draft.name),
        draft.name
          ? button("Clear", () => {
              draft = fresh();
              place.redraw();
            })
          : null,
      ),
    );
  }

  function nothing() {
    const words =
      "Servers run on this machine. Add a Docker daemon, a machine over SSH or a cluster below to run them there, too.";
    return empty("No executors of your own yet.", h("p", null, words));
  }

  load();
  return () => [
    top("Executors", "Places other than this machine where servers can run."),
    rows ? h("div", null, rows.length ? rows.map(card) : nothing()) : looking(),
    quiet(
      "Built in: ",
      kinds.map((kind, at) => [at ? ", " : "", link(policyPath(kind), visible(kind))]),
    ),
    form(),
  ];
}
