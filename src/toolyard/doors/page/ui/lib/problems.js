// What is wrong, each with what to do: a link `to` where, or the button that mends it.

import { h } from "./dom.js";
import { quiet } from "./bits.js";
import { link } from "./parts.js";
import { mend, problemWords } from "./causes.js";
import { visible } from "./words.js";
import { serverPath } from "./paths.js";

export function problems(list, servers = [], label = "Problems") {
  return h(
    "ul",
    { class: "problems", "aria-label": label },
    list.map((problem) => {
      const server = servers.find(({ name, source }) => `${name}@${source}` === problem.subject);
      return h(
        "li",
        {
          key: `${problem.code} ${problem.subject} ${problem.text}`,
          class: server?.state === "waiting" ? "waits" : undefined,
        },
        h(
          "div",
          null,
          h(
            "p",
            { class: "title" },
            server ? [link(serverPath(server.alias), visible(server.alias)), " — "] : null,
            server ? problemWords(problem, server) : visible(problem.text),
          ),
          quiet(visible(problem.hint)),
        ),
        problem.to ? link(problem.to, "See it") : mend(problem, server),
      );
    }),
  );
}
