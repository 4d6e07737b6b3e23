// One call that is watched: what happens to it, as it happens.

import { readJson } from "./exactjson.js";
import { api, events, order } from "./store.js";

/**
 * How a call spends its time, as it is seen from here.
 * @typedef {{kind: "hub" | "server" | "person", from: number, to: number}} Stretch
 */

class Stretches {
  constructor() {
    /** @type {Stretch[]} */
    this.all = [];
    this.questions = 0; // that are open
    this.next("hub");
  }

  /** @param {Stretch["kind"]} kind */
  next(kind) {
    const now = performance.now();
    const last = this.all[this.all.length - 1];
    if (last) last.to = now;
    if (last?.kind !== kind) this.all.push({ kind, from: now, to: now });
  }

  hear(kind) {
    if (kind === "question") this.questions += 1;
    if (kind === "withdrawn") this.questions -= 1;
    this.next(this.questions > 0 ? "person" : "server");
  }

  answered() {
    this.questions -= 1;
    if (this.questions <= 0) this.next("server");
  }
}

export function call(asked, hear) {
  const abort = new AbortController();
  const stretches = new Stretches();
  let id = "";
  const ended = (async () => {
    try {
      const answer = await api("POST", "/calls", asked, abort.signal);
      const follow = (kind, said) => {
        if (kind === "begun") id = said.id;
        stretches.hear(kind);
        hear(kind, said);
      };
      await events(answer, follow, readJson);
    } catch (error) {
      hear(abort.signal.aborted ? "cancelled" : "refused", {
        text: error.message,
        hint: error.hint || "",
      });
    }
    hear("over", {});
  })();
  return {
    ended,
    stretches: stretches.all,
    async answer(question, action, content) {
      stretches.answered();
      try {
        return await order("POST", `/calls/${id}/answer`, { question, action, content });
      } catch (error) {
        stretches.hear("question"); // it is still open
        throw error;
      }
    },
    cancel: () => (id ? order("DELETE", `/calls/${id}`).catch(() => abort.abort()) : abort.abort()),
    leave: () => abort.abort(),
  };
}
