// Policies: what each executor allows and changes.

import { h } from "../lib/dom.js";
import { heads, looking, quiet, top } from "../lib/bits.js";
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
    top("Policies", quiet("What each place allows servers to do there, and what it changes.")),
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
      null,
      "More places can be named on the page of ",
      link("/ui/executors", "executors"),
      ".",
    ),
  ];
}
