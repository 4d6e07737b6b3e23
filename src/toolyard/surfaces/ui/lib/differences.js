// What was approved and what is there now, side by side, with nothing hidden.

import { h } from "./dom.js";
import { quiet, tag } from "./bits.js";
import { button } from "./parts.js";
import { visible } from "./words.js";

export function differences(changes, held, approve) {
  return changes.map((change) => h("div", { key: `${change.kind} ${change.name}`, class: "change" },
    h("div", { class: "row" }, h("h3", null, visible(change.name)), tag(visible(change.kind)),
      held.includes(change.name) ? button("Approve this tool", () => approve(change.name)) : null),
    change.fields.map((field) => h("div", { key: field.path },
      quiet(visible(field.path)),
      h("div", { class: "two" }, side("Before", field.before, "before"), side("Now", field.after, "after"))))));
}

function side(title, words, kind) {
  return h("div", null, quiet(title),
    words ? h("pre", { class: kind, tabindex: "0", "aria-label": title }, visible(words)) : quiet("nothing"));
}
