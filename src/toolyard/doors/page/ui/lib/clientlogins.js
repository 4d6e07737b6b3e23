// The clients that people have logged in with at the hub itself, each with the button that ends that.

import { h } from "./dom.js";
import { heads, under } from "./bits.js";
import { order, segment } from "./store.js";
import { button, complain, confirmed, say, time } from "./parts.js";
import { visible } from "./words.js";

/**
 * @param {any[]} clients
 * @param {string} path of the API, to which the id of one is added
 * @param {() => void} again looks again
 * @param {boolean} withMember whose they are is told, too
 */
export function clientLogins(clients, path, again, withMember) {
  async function end({ id, client, email }) {
    const whose = withMember ? `${email} has` : "you have";
    const question = `Log ${client || "this client"} out? What ${whose} open with it ends at once, and it asks for a login before it works again.`;
    if (!(await confirmed(question, "Log out"))) return;
    try {
      await order("DELETE", `${path}/${segment(id)}`);
      say(`${client || "The client"} is logged out.`);
    } catch (error) {
      complain(error);
    }
    again();
  }

  function row(login) {
    const name = visible(login.client) || "unnamed client";
    const label = withMember ? `Log out ${name} of ${login.email}` : `Log out ${name}`;
    return h(
      "tr",
      { key: login.id },
      h("th", { scope: "row" }, name, under(`returns to ${visible(login.host)}`)),
      withMember ? h("td", { "data-label": "Member" }, visible(login.email)) : null,
      h("td", { "data-label": "Since" }, time(login.since)),
      h("td", { "data-label": "Last used" }, time(login.last_used)),
      h(
        "td",
        { class: "number" },
        button("Log out", () => end(login), { "aria-label": label }),
      ),
    );
  }

  const titles = ["Client", ...(withMember ? ["Member"] : []), "Since", "Last used", ""];
  return h("table", { class: "stack" }, heads(titles), h("tbody", null, clients.map(row)));
}
