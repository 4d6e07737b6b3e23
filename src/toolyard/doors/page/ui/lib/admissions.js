// Admissions in words: what they limit.

import { h } from "./dom.js";
import { count } from "./words.js";

/** The tiers, each with its words; the last one leaves nothing out. */
export const TIERS = [
  ["destroy", "Every tool"],
  ["write", "Tools that destroy nothing"],
  ["read", "Tools that only read"],
];

/** The limits of an admission for each of its members, a line each. */
export function limitsOf({ tier, sessions, instances }) {
  const lines = [
    tier === "destroy" ? "" : TIERS.find(([name]) => name === tier)?.[1].toLowerCase() || tier,
    sessions ? count(sessions, "session") : "",
    instances ? count(instances, "running server") : "",
  ].filter(Boolean);
  if (!lines.length) return "none of its own";
  return lines.map((words, at) => [at ? h("br", null) : null, words]);
}
