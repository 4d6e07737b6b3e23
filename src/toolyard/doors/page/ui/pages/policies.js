// Policies: what each executor allows and changes.

import { h } from "../lib/dom.js";
import { heads, looking, top } from "../lib/bits.js";
import { ask, onPicture } from "../lib/store.js";
import { complain, link } from "../lib/parts.js";
import { visible } from "../lib/words.js";
import { ownerWords, policyWords } from "../lib/plan.js";
import { policyPath } from "../lib/paths.js";

export function open(place) {
  let rows = null;
  const load = () =>
    ask("/policies").then((answer) => {
      rows = answer.policies;
      place.redraw();
    }, complain);
  onPicture(place, load);
  load();
  return () => [
    top(
      "Policies",
      "What each executor allows, and what it changes in the servers that run there.",
    ),
    rows
      ? h(
          "table",
          { class: "stack" },
          heads(["Executor", "Kind", "Policy", "What it says"]),
          h(
            "tbody",
            null,
            rows.map((row) =>
              h(
                "tr",
                { key: row.executor },
                h("th", { scope: "row" }, link(policyPath(row.executor), visible(row.executor))),
                h("td", { "data-label": "Kind" }, visible(row.kind)),
                h("td", { "data-label": "Policy" }, visible(ownerWords(row))),
                h("td", { class: "whole" }, policyWords(row.policy)),
              ),
            ),
          ),
        )
      : looking(),
    h(
      "p",
      { class: "lead" },
      "Add more places on the page ",
      link("/ui/executors", "Executors"),
      ".",
    ),
  ];
}
