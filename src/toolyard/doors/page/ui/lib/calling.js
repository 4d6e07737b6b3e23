// One call that is watched: what happens to it, as it happens.

import { api, events, order } from "./store.js";

export function call(asked, hear) {
  const abort = new AbortController();
  let id = "";
  const ended = (async () => {
    try {
      const answer = await api("POST", "/calls", asked, abort.signal);
      await events(answer, (kind, said) => {
        if (kind === "begun") id = said.id;
        hear(kind, said);
      });
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
    answer: (question, action, content) =>
      order("POST", `/calls/${id}/answer`, { question, action, content }),
    cancel: () => (id ? order("DELETE", `/calls/${id}`).catch(() => abort.abort()) : abort.abort()),
    leave: () => abort.abort(),
  };
}
