// Rules in the words of `toolyard rule`: read from a form, and told in a table.

import { fromList } from "./editing.js";
import { readJson, writeJson } from "./exactjson.js";

export const WAIT_SECONDS = 600; // that a person has, unless the rule says otherwise
/** @type {[string, string][]} */
export const TIERS = [
  ["", "Any tool"],
  ["read", "Tools of the tier read or above"],
  ["write", "Tools of the tier write or above"],
  ["destroy", "Tools of the tier destroy"],
];

/**
 * Read tests of arguments, one on each line: PATH=GLOB, or PATH:=JSON for one value.
 * @param {string} text
 * @throws {Error} for a line that is neither
 */
export function readTests(text) {
  return fromList(text).map((line) => {
    const [, path, mark, value] = /^([^=]*?)(:?=)([^]*)$/.exec(line) || [];
    if (!path) throw new Error(`“${line}” is not PATH=GLOB or PATH:=JSON`);
    if (mark === "=") return { path, glob: value };
    try {
      return { path, equals: readJson(value) };
    } catch {
      throw new Error(`“${value}” is not JSON; a text needs quotes`);
    }
  });
}

export const spelled = (test) =>
  test.glob ? `${test.path}=${test.glob}` : `${test.path}:=${writeJson(test.equals)}`;

/** The conditions of a rule, a line each. */
export function conditionsOf({ tier, arguments: tests, members, agents }) {
  return [
    ...(tier ? [tier === "destroy" ? "tier destroy" : `tier ${tier} or above`] : []),
    ...tests.map(spelled),
    ...members.map((member) => `member ${member}`),
    ...agents.map((agent) => `agent ${agent}`),
  ];
}

/** A rule as its form holds it. */
export function draftOf(rule) {
  return {
    ...rule,
    tools: rule.tools.join("\n"),
    tier: rule.tier || "",
    arguments: rule.arguments.map(spelled).join("\n"),
    members: rule.members.join("\n"),
    agents: rule.agents.join("\n"),
    wait: String(rule.wait),
  };
}

/**
 * What the API is told of a rule.
 * @throws {Error} for tests that cannot be read
 */
export function bodyOf(draft) {
  return {
    says: draft.says,
    tools: fromList(draft.tools),
    tier: draft.tier || null,
    arguments: readTests(draft.arguments),
    members: fromList(draft.members),
    agents: fromList(draft.agents),
    reason: draft.reason,
    wait: Number(draft.wait) || WAIT_SECONDS,
  };
}

export const NEW_RULE = draftOf({
  name: "",
  says: "ask",
  tools: [],
  tier: "",
  arguments: [],
  members: [],
  agents: [],
  reason: "",
  wait: WAIT_SECONDS,
});
