// Sessions: who is connected now, who has logged in with which client, and the end of either.

import { looking, quiet, sheet, top } from "../lib/bits.js";
import { ask, listen, state } from "../lib/store.js";
import { complain } from "../lib/parts.js";
import { clientLogins } from "../lib/clientlogins.js";
import { sessionTable } from "../lib/sessiontable.js";

const LEAD =
  "Clients that are connected, and those that members have logged in with. To keep somebody out, disable the member or revoke the token.";

export function open(place) {
  let sessions = null;
  let clients = null;

  async function load() {
    try {
      [{ sessions }, { clients }] = await Promise.all([ask("/sessions"), ask("/authorizations")]);
    } catch (error) {
      if (state.isLetIn) complain(error);
    }
    place.redraw();
  }

  function list() {
    if (!sessions) return looking();
    const words = "A client is listed while it has a session, or listens for changes.";
    if (!sessions.length) return quiet("No client is connected. ", words);
    return sessionTable(sessions, "/sessions", load, true);
  }

  function loggedIn() {
    if (!clients) return looking();
    if (!clients.length) return quiet("Nobody has logged in with a client at this hub itself.");
    return clientLogins(clients, "/authorizations", load, true);
  }

  place.onLeave(listen((kind) => ["picture", "clients"].includes(kind) && load()));
  load();
  return () => [
    top("Sessions", LEAD),
    sheet("Connected now", list()),
    sheet("Logged in", loggedIn()),
  ];
}
