// What was approved and what is there now, side by side, with nothing hidden.

import { h } from "./dom.js";
import { quiet, tag } from "./bits.js";
import { button } from "./parts.js";
import { visible } from "./words.js";

const WORDS = {
  tools: "tool",
  prompts: "prompt",
  resources: "resource",
  templates: "template",
  instructions: "instructions",
};

// `approve` takes the parts that are meant, as the API names them; without it nothing waits.
export function differences(changes, approve) {
  return changes.map((change) =>
    h(
      "div",
      { key: `${change.of} ${change.kind} ${change.name}`, class: "change" },
      h(
        "div",
        { class: "row" },
        h("h3", null, title(change)),
        tag(visible(change.kind)),
        change.restless ? tag("changes at nearly every start") : null,
        approve && change.held ? orders(change, approve) : null,
      ),
      change.fields.map((field) =>
        h(
          "div",
          { key: field.path },
          quiet(visible(field.path)),
          h(
            "div",
            { class: "two" },
            side("Before", field.before, "before"),
            side("Now", field.after, "after"),
          ),
        ),
      ),
    ),
  );
}

// What a person should look at in the words of a server, the serious first.
export function findings(list) {
  if (!list.length) return null;
  return h(
    "ul",
    { class: "findings" },
    list.map((finding) =>
      h(
        "li",
        { key: `${finding.of} ${finding.name} ${finding.path} ${finding.why}` },
        tag(finding.serious ? "look" : "note"),
        ` ${title(finding)}: ${visible(finding.why)} `,
        quiet(visible(finding.path)),
        h("pre", null, visible(finding.text)),
      ),
    ),
  );
}

function title(change) {
  if (change.of === "instructions") return "What it tells models";
  return change.of === "tools"
    ? visible(change.name)
    : `${WORDS[change.of]} ${visible(change.name)}`;
}

function orders(change, approve) {
  const word = WORDS[change.of];
  const part = { [change.of]: change.of === "instructions" ? true : [change.name] };
  const any = "Descriptions and titles may then change; names, arguments and schemas may not.";
  return [
    button(
      change.of === "instructions" ? "Approve these instructions" : `Approve this ${word}`,
      () => approve(part),
    ),
    change.restless
      ? button("Approve any text", () => approve({ ...part, any_text: true }), { title: any })
      : null,
  ];
}

function side(title, words, kind) {
  return h(
    "div",
    null,
    quiet(title),
    words
      ? h("pre", { class: kind, tabindex: "0", "aria-label": title }, visible(words))
      : quiet("nothing"),
  );
}
