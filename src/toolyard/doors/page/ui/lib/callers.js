// Callers in words: the names by which the hub knows who calls.

import { visible } from "./words.js";

const NAMES = {
  "": "this machine",
  control: "the hub's own token",
  page: "this page",
};

/** @param {string} caller the name of a token or member, or one of the hub's own */
export const callerOf = (caller) => NAMES[caller] || visible(caller);
