// The clients that are connected now, each with the button that ends its session.

import { h } from "./dom.js";
import { heads, under } from "./bits.js";
import { order, segment } from "./store.js";
import { button, complain, confirmed, say } from "./parts.js";
import { count, visible } from "./words.js";

/**
 * @param {any[]} sessions
 * @param {string} path of the API, to which the id of one is added
 * @param {() => void} again looks again
 * @param {boolean} withCaller whose they are is told, too
 */
export function sessionTable(sessions, path, again, withCaller) {
  async function end({ id, client }) {
    const question = `End the session of ${client || "this client"}? Its calls under way are cancelled; it may begin a new one.`;
    if (!(await confirmed(question, "End session"))) return;
    try {
      await order("DELETE", `${path}/${segment(id)}`);
      say("The session has ended.");
    } catch (error) {
      complain(error);
    }
    again();
  }

  function row(session) {
    const name = visible(session.client) || "unnamed client";
    return h(
      "tr",
      { key: session.id },
      h("th", { scope: "row" }, name, under(`MCP ${visible(session.version) || "of its own era"}`)),
      withCaller
        ? h("td", { "data-label": "Came in as" }, visible(session.caller) || "a program here")
        : null,
      h("td", { "data-label": "Now" }, session.calls ? count(session.calls, "call") : "idle"),
      h(
        "td",
        { class: "number" },
        button("End", () => end(session), { "aria-label": `End the session of ${name}` }),
      ),
    );
  }

  const titles = withCaller ? ["Client", "Came in as", "Now", ""] : ["Client", "Now", ""];
  return h("table", { class: "stack" }, heads(titles), h("tbody", null, sessions.map(row)));
}
