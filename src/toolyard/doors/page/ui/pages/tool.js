// Try a tool: a form and its JSON in step, the call as it runs, and what came of it.

import { h } from "../lib/dom.js";
import { away, crumbs, looking, quiet, small, submit } from "../lib/bits.js";
import { readJson, writeJson } from "../lib/exactjson.js";
import { ask, askExactly, onPicture, order, segment, state } from "../lib/store.js";
import { button, code, complain, confirmed, empty, fold, link, say } from "../lib/parts.js";
import { ms, short, visible } from "../lib/words.js";
import { call } from "../lib/calling.js";
import { makeForm } from "../lib/form.js";
import { result } from "../lib/result.js";
import { waterfall } from "../lib/waterfall.js";
import { serverPath } from "../lib/paths.js";

export function open(place) {
  const { alias, tool } = place.params;
  const inputs = `/tools/${segment(alias)}/${segment(tool)}/inputs`;
  /** @type {any} */
  const mine = {
    offer: null,
    held: false,
    form: null,
    raw: null, // the JSON as it is typed; null while the form speaks
    wrong: "",
    saved: [],
    name: "", // of an input that is saved
    call: null,
    progress: null,
    logs: [],
    questions: [],
    end: null,
    begun: 0,
    took: 0,
    spent: [], // how it spent that time
    gone: null,
    missing: [],
  };

  async function look() {
    try {
      const offers = await ask(`/servers/${segment(alias)}/offers`);
      mine.offer = offers.tools.find((offered) => offered.name === tool);
      if (!mine.offer) throw new Error(`“${alias}” offers no tool “${tool}” now`);
      mine.form = makeForm(mine.offer.inputSchema, changed);
      mine.gone = null;
    } catch (error) {
      mine.gone = error;
    }
    place.redraw();
  }
  async function lookSaved() {
    mine.saved = (await askExactly("GET", inputs).catch(() => ({ inputs: [] }))).inputs;
    place.redraw();
  }
  function changed() {
    mine.raw = null;
    mine.wrong = "";
    place.redraw();
  }
  function typed(event) {
    mine.raw = event.target.value;
    try {
      const value = readJson(mine.raw);
      if (value === null || typeof value !== "object" || Array.isArray(value))
        throw new Error("arguments are a JSON object");
      const text = mine.raw;
      mine.form.set(value);
      mine.raw = text;
      mine.wrong = "";
    } catch (error) {
      mine.wrong = error.message;
    }
    place.redraw();
  }
  function withForm(question) {
    const form = makeForm(question.params?.requestedSchema, place.redraw, `q${question.question}`);
    return { ...question, form };
  }
  function complete() {
    const names = mine.missing.map((path) => path.join("."));
    say(
      names.length ? `Still needed: ${names.join(", ")}` : "The arguments are not right yet.",
      "bad",
    );
    if (names.length) document.getElementById(`f.${names[0]}`)?.focus();
    place.redraw();
  }
  function hear(kind, said) {
    if (kind === "progress") mine.progress = said;
    else if (kind === "log") mine.logs = [...mine.logs, said].slice(-100);
    else if (kind === "question") mine.questions = [...mine.questions, withForm(said)];
    else if (kind === "withdrawn")
      mine.questions = mine.questions.filter((asked) => asked.question !== said.requestId);
    else if (["result", "refused", "cancelled"].includes(kind)) mine.end = { kind, said };
    else if (kind === "over")
      Object.assign(mine, {
        spent: mine.call?.stretches || [],
        call: null,
        questions: [],
        took: performance.now() - mine.begun,
      });
    place.redraw();
  }
  function begin() {
    mine.missing = mine.form.missing();
    if (mine.wrong || mine.form.broken() || mine.missing.length) {
      complete();
      return;
    }
    Object.assign(mine, {
      progress: null,
      logs: [],
      questions: [],
      end: null,
      begun: performance.now(),
    });
    mine.call = call({ server: alias, tool, arguments: mine.form.value }, hear);
    place.redraw();
  }
  async function answer(question, action) {
    try {
      await mine.call.answer(
        question.question,
        action,
        action === "accept" ? question.form.value : {},
      );
      mine.questions = mine.questions.filter((other) => other !== question);
    } catch (error) {
      complain(error);
    }
    place.redraw();
  }
  async function save() {
    const name = mine.name.trim();
    if (!name) {
      say("Give the input a name first.", "bad");
      return;
    }
    try {
      await order("PUT", inputs, { name, arguments: mine.form.value });
      mine.name = "";
      say(`Saved as “${name}”.`);
      lookSaved();
    } catch (error) {
      complain(error);
    }
  }
  async function forget(name) {
    if (!(await confirmed(`Delete the saved input “${visible(name)}”?`, "Delete it"))) return;
    await order("DELETE", `${inputs}?name=${segment(name)}`).catch(complain);
    lookSaved();
  }
  place.onLeave(() => mine.call?.leave());
  onPicture(place, () => {
    if (mine.gone) look();
  }); // its server may only be starting
  look();
  lookSaved();
  const parts = { alias, tool, mine, typed, begin, answer, save, forget, place };
  return () => {
    const held = Boolean(
      state.status?.servers.find((server) => server.alias === alias)?.held.includes(tool),
    );
    if (mine.held !== held) look(); // what it takes may be something else now
    mine.held = held;
    return draw(parts);
  };
}

function draw(parts) {
  const { alias, tool, mine } = parts;
  if (mine.gone)
    return empty(
      visible(mine.gone.message),
      h("p", null, link(serverPath(alias), `See what ${visible(alias)} offers`)),
    );
  if (!mine.form || !state.status) return looking();
  const { offer } = mine;
  return [
    h(
      "div",
      { class: "top" },
      h(
        "div",
        null,
        crumbs("/ui", "Servers", serverPath(alias), visible(alias)),
        h("h1", null, short(offer.title || tool, 120)),
        offer.title && offer.title !== tool ? quiet(visible(tool)) : null,
        about(offer.description),
        offer.annotations?.destructiveHint
          ? h("p", { class: "bad" }, "Its server says that this tool may destroy something.")
          : null,
      ),
    ),
    mine.held ? waiting(alias) : h("div", { class: "two" }, formCard(parts), rawCard(parts)),
    h("div", { "aria-live": "polite" }, running(parts), ending(mine)),
  ];
}

function waiting(alias) {
  return h(
    "section",
    { class: "card waits" },
    h("h2", null, "It waits for approval"),
    h(
      "p",
      null,
      "This tool has changed since it was approved, or is new. Nobody can call it until somebody has looked.",
    ),
    h("p", null, link(`${serverPath(alias)}#changes`, "Look and approve")),
  );
}

function about(words) {
  if (!words) return null;
  return String(words).length > 600
    ? fold(short(words, 300), code(words))
    : h("p", null, visible(words));
}

function formCard({ mine, begin }) {
  return h(
    "form",
    { class: "card schema", "aria-label": "Arguments", novalidate: true, on: { submit: begin } },
    h("h2", null, "Arguments"),
    mine.form.draw(),
    h(
      "div",
      { class: "row" },
      submit(mine.call ? "Running …" : "Call it", Boolean(mine.call)),
      mine.call ? button("Cancel", () => mine.call?.cancel()) : null,
    ),
  );
}

function rawCard({ mine, typed, save, forget, place }) {
  const shown = mine.raw ?? writeJson(mine.form.value, 2);
  const use = (input) => {
    mine.raw = null;
    mine.wrong = "";
    mine.form.set(input.arguments);
  };
  const name = (event) => {
    mine.name = event.target.value;
    place.redraw();
  };
  return h(
    "section",
    { class: "card" },
    h("h2", null, "As JSON"),
    h("textarea", {
      class: "raw",
      "aria-label": "Arguments as JSON",
      spellcheck: "false",
      value: shown,
      "aria-invalid": mine.wrong ? "true" : undefined,
      on: { input: typed },
    }),
    mine.wrong ? h("p", { class: "bad" }, visible(mine.wrong)) : null,
    h("h3", null, "Saved inputs"),
    mine.saved.length
      ? h(
          "ul",
          { class: "plain" },
          mine.saved.map((input) =>
            h(
              "li",
              { key: input.name, class: "row" },
              button(short(input.name, 60), () => use(input)),
              button("Delete", () => forget(input.name), {
                "aria-label": `Delete ${visible(input.name)}`,
              }),
            ),
          ),
        )
      : quiet("None yet. What you save here, you can call again."),
    h(
      "div",
      { class: "row" },
      h("input", {
        type: "text",
        class: "narrow",
        placeholder: "Name",
        "aria-label": "Name of the input",
        value: mine.name,
        on: { input: name },
      }),
      button("Save these arguments", save),
    ),
  );
}

function logLine({ level, data }) {
  return `${level}: ${typeof data === "string" ? data : writeJson(data)}`;
}

function progressCard({ progress, total, message }) {
  const attrs = {
    max: total || undefined,
    value: total ? progress : undefined,
    "aria-label": "Progress",
  };
  const of = total ? ` of ${total}` : "";
  return h(
    "div",
    { class: "card" },
    h("progress", attrs),
    quiet(`${progress}${of} ${short(message || "")}`),
  );
}

function running({ mine, answer }) {
  return [
    mine.progress && mine.call ? progressCard(mine.progress) : null,
    mine.questions.map((question) => asking(question, answer)),
    mine.logs.length
      ? h(
          "section",
          { class: "card" },
          fold(`It logged ${mine.logs.length} times`, code(mine.logs.map(logLine).join("\n"))),
        )
      : null,
  ];
}

function asking(question, answer) {
  const { message, mode, url } = question.params || {};
  const isPage = mode === "url";
  const isWeb = /^https?:\/\//i.test(url);
  return h(
    "form",
    {
      key: `question ${question.question}`,
      class: "question schema",
      "aria-label": "The server asks",
      novalidate: true,
      on: { submit: () => answer(question, "accept") },
    },
    h("h2", null, "The server asks"),
    h("p", null, visible(message || "")),
    isPage
      ? h(
          "p",
          null,
          "It wants you to open ",
          isWeb ? away(url, short(url)) : h("code", null, short(url)),
        )
      : question.form.draw(),
    h(
      "div",
      { class: "row" },
      submit(isPage ? "I have done so" : "Answer"),
      button("Decline", () => answer(question, "decline")),
      button("Dismiss", () => answer(question, "cancel")),
    ),
  );
}

const STRETCHES = { hub: "Reaching the hub", server: "Hub and server", person: "Waiting for you" };

// How the time was spent: shown where there is more to it than one number.
function spending(stretches) {
  if (!stretches.some(({ kind }) => kind === "person")) return null;
  return waterfall(
    stretches.map(({ kind, from, to }, at) => ({
      key: String(at),
      label: STRETCHES[kind],
      kind,
      from,
      to,
    })),
  );
}

const ENDS = { cancelled: "Cancelled", refused: "Refused", result: "Result" };

function ending(mine) {
  if (!mine.end) return null;
  const { kind, said } = mine.end;
  return h(
    "section",
    { class: "card", "aria-label": "Result" },
    h("div", { class: "top" }, h("h2", null, ENDS[kind]), small(ms(mine.took))),
    spending(mine.spent),
    endWords(kind, said),
  );
}

function endWords(kind, said) {
  if (kind === "result") return result(said);
  if (kind === "cancelled") return quiet("The server was told that nobody waits any more.");
  const hint = said.hint ? h("span", { class: "under" }, visible(said.hint)) : null;
  return h("p", { class: "bad" }, visible(said.text), hint);
}
