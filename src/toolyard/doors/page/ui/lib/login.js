// Logging in by one's own name: the way to the issuer and back, and a new key in time.

import { Refused } from "./store.js";
import { recall, remember } from "./memory.js";

const TIE = "tie"; // the secret by which this tab, and no other, finishes the login it began
const BACK = "back"; // where it began
const LOST = "this login was begun in another tab, or the tab has forgotten it; log in again";

async function knock(path, secret) {
  const headers = { authorization: `Bearer ${secret}` };
  const answer = await fetch(`/ui/login/${path}`, { method: "POST", headers, cache: "no-store" });
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, body);
  return body;
}

function take({ key, renewal }) {
  remember("renewal", renewal);
  remember("key", key);
}

function newTie() {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Leave for the issuer's login page; this resolves only if that is not possible. */
export async function begin(back = "/ui") {
  const tie = newTie();
  const { url, home } = await knock("begin", tie);
  // What this tab keeps is its origin's, so it has to leave from where it comes back to.
  if (home !== location.origin) {
    location.assign(`${home}/ui/login`);
    return;
  }
  if (!/^https?:/.test(url)) throw new Error("the login service named no page to log in at");
  sessionStorage.setItem(TIE, tie);
  sessionStorage.setItem(BACK, back);
  location.assign(url);
}

/** Take what the issuer sent with the browser; the page to go on with. */
export async function finish(query) {
  const tie = sessionStorage.getItem(TIE);
  const back = sessionStorage.getItem(BACK) || "/ui";
  if (!tie) throw new Refused(403, { detail: LOST });
  sessionStorage.removeItem(TIE);
  take(await knock(`finish${query}`, tie));
  return back;
}

/** @type {Promise<boolean> | null} */
let renewing = null;

// One tab renews for all: an issuer may take what renews a key just once.
const alone = (work) => (navigator.locks ? navigator.locks.request("renewal", work) : work());

async function renewNow(key) {
  if (recall("key") !== key) return true; // another tab did
  try {
    take(await knock("renew", recall("renewal")));
    return true;
  } catch (error) {
    if (error instanceof Refused && error.status === 403) remember("renewal", "");
    return false;
  }
}

/** Get a new key in place of one that has ended; false if there is none to be had. */
export async function renew(key) {
  renewing ||= alone(() => renewNow(key)).finally(() => {
    renewing = null;
  });
  return renewing;
}

export function logOut() {
  remember("key", "");
  remember("renewal", "");
  location.assign("/ui");
}
