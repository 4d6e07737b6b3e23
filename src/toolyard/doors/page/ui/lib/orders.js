// The orders about one server: one at a time, with its progress, cancelled or undone by a click.

import { byId, h } from "./dom.js";
import { api, order, refresh, segment } from "./store.js";
import { button, complain, light, run, say } from "./parts.js";
import { seconds } from "./words.js";
import { serverPath } from "./paths.js";

const DOING = {
  activate: "starting",
  restart: "restarting",
  deactivate: "stopping",
  verify: "verifying",
  enable: "enabling",
  disable: "disabling",
};

// Put a removed server back, and let it run as it did.
async function putBack(name, enabled) {
  const path = `/servers/${segment(name)}`;
  const answer = await run(`${name} is back.`, "POST", `${path}/restore`);
  if (answer && enabled) await order("POST", `${path}/activate`).catch(complain);
  refresh();
}

export class Orders {
  /** @type {{ what: string, since: number, stop: AbortController } | null} */
  #busy = null;

  /** @param {string} alias @param {import("../pages/index.js").Place} place */
  constructor(alias, place) {
    this.alias = alias;
    this.place = place;
    this.path = `/servers/${segment(alias)}`;
    const ticking = setInterval(() => this.#busy && place.redraw(), 1000);
    place.onLeave(() => clearInterval(ticking));
  }

  // What was answered; null if it was refused or cancelled.
  async give(what, done) {
    const stop = new AbortController();
    this.#busy = { what, since: Date.now(), stop };
    this.place.redraw();
    let answer = null;
    try {
      answer = await (await api("POST", `${this.path}/${what}`, undefined, stop.signal)).json();
      say(done);
    } catch (error) {
      if (!stop.signal.aborted) complain(error);
    }
    this.#busy = null;
    refresh();
    this.place.redraw();
    return answer;
  }

  // What is being started is stopped as well; what else was asked is no longer waited for.
  async #cancel() {
    const isStarting = ["activate", "restart"].includes(this.#busy?.what || "");
    this.#busy?.stop.abort();
    if (isStarting) await run(`${this.alias} was stopped.`, "POST", `${this.path}/deactivate`);
    else say("Cancelled.");
  }

  async #remove(name, enabled) {
    try {
      await order("DELETE", this.path);
    } catch (error) {
      complain(error);
      return;
    }
    say(
      `${name} was removed.`,
      "",
      button("Undo", () => putBack(name, enabled)),
    );
    refresh();
    await this.place.go("/ui");
    byId("said").querySelector("button")?.focus(); // the first thing one may want now
  }

  progress() {
    if (!this.#busy) return null;
    const { what, since } = this.#busy;
    return h(
      "p",
      { class: "row" },
      light("starting", `${DOING[what]}, ${seconds((Date.now() - since) / 1000)}`),
      button("Cancel", () => this.#cancel(), { class: "small" }),
    );
  }

  draw(server, verify) {
    const { alias } = server;
    const isOwn = server.source === "configured";
    return h(
      "div",
      { class: "row", role: "group", "aria-label": "Orders" },
      server.enabled
        ? [this.#running(server), this.#button("Verify", verify)]
        : this.#order("enable", "Enable", `${alias} is enabled.`, { class: "main" }),
      isOwn ? h("a", { class: "button", href: `${serverPath(alias)}/edit` }, "Edit") : null,
      this.#more(server, isOwn),
    );
  }

  #running({ alias, status }) {
    if (!["ready", "starting", "installing"].includes(status))
      return this.#order("activate", "Start", `${alias} runs.`, { class: "main" });
    return [
      this.#order("restart", "Restart", `${alias} was restarted.`),
      this.#order("deactivate", "Let it rest", `${alias} rests; the next call starts it.`),
    ];
  }

  // Orders one gives rarely, folded away.
  #more({ alias, name, enabled }, isOwn) {
    const copy = `/ui/add?like=${segment(alias)}`;
    const orders = [
      isOwn ? h("a", { class: "button", href: copy }, "Duplicate") : null,
      enabled ? this.#order("disable", "Disable", `${alias} is disabled.`) : null,
      isOwn ? this.#button("Remove", () => this.#remove(name, enabled), { class: "danger" }) : null,
    ];
    if (!orders.some(Boolean)) return null;
    return h(
      "details",
      { key: "more", class: "menu" },
      h("summary", { class: "button" }, "More"),
      h("div", null, orders),
    );
  }

  #order(what, words, done, attrs = {}) {
    return this.#button(words, () => this.give(what, done), attrs);
  }

  #button(words, press, attrs = {}) {
    return button(words, press, { disabled: Boolean(this.#busy), ...attrs });
  }
}
