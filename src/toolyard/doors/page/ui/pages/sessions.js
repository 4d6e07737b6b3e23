// Sessions: who is connected now, and the end of a session.

import { h } from "../lib/dom.js";
import { looking, top } from "../lib/bits.js";
import { ask, listen, state } from "../lib/store.js";
import { complain, empty } from "../lib/parts.js";
import { sessionTable } from "../lib/sessiontable.js";

const LEAD =
  "Clients that are connected to this hub now. To keep somebody out, disable the member or revoke the token.";

export function open(place) {
  let sessions = null;

  async function load() {
    try {
      ({ sessions } = await ask("/sessions"));
    } catch (error) {
      if (state.isLetIn) complain(error);
    }
    place.redraw();
  }

  function list() {
    if (!sessions) return looking();
    const words = "A client is listed while it has a session, or listens for changes.";
    if (!sessions.length) return empty("No client is connected.", h("p", null, words));
    return sessionTable(sessions, "/sessions", load, true);
  }

  place.onLeave(listen((kind) => ["picture", "clients"].includes(kind) && load()));
  load();
  return () => [top("Sessions", LEAD), h("div", { key: "list" }, list())];
}
