// What a run of an agent gets, and what is left out, each with its reason.

import { h } from "./dom.js";
import { looking, quiet, tag } from "./bits.js";
import { button } from "./parts.js";
import { openWhy } from "./story.js";
import { count, visible } from "./words.js";

function where({ endpoint }) {
  return endpoint.url || [endpoint.command, ...(endpoint.args || [])].join(" ");
}

function drawServer(server, plan) {
  const why = () => openWhy(server.name, plan.agent, plan.executor);
  return h(
    "li",
    { key: `plan ${server.name}` },
    h(
      "div",
      { class: "row spread" },
      h(
        "span",
        null,
        h("strong", null, visible(server.name)),
        tag(server.transport),
        tag(server.mode.replace("_", " ")),
        tag(server.via === "hub" ? "through the hub" : "direct"),
      ),
      button("Why", why, { "aria-label": `Why ${server.name} is given` }),
    ),
    h("code", { class: "where" }, visible(where(server))),
  );
}

function drawRefusal(refusal, plan) {
  const why = () => openWhy(refusal.name, plan.agent, plan.executor);
  return h(
    "li",
    { key: `no ${refusal.name}`, class: "refused" },
    h(
      "div",
      { class: "row spread" },
      h(
        "span",
        null,
        h("strong", null, visible(refusal.name)),
        h("span", { class: "tag bad" }, "left out"),
      ),
      button("Why", why, { "aria-label": `Why ${refusal.name} is left out` }),
    ),
    h("p", null, visible(refusal.text)),
    quiet(visible(refusal.hint)),
  );
}

export function drawPlan(plan) {
  if (!plan) return looking();
  if (!plan.enabled) return h("p", null, "It is switched off, so a run gets no servers.");
  if (!plan.servers.length && !plan.refusals.length)
    return h("p", null, "A run gets no servers: the list is empty.");
  return [
    quiet(
      `A run gets ${count(plan.servers.length, "server")}`,
      plan.refusals.length ? `, ${plan.refusals.length} left out.` : ".",
    ),
    h(
      "ul",
      { class: "plain" },
      plan.refusals.map((refusal) => drawRefusal(refusal, plan)),
      plan.servers.map((server) => drawServer(server, plan)),
    ),
  ];
}

const TRANSPORTS = [
  ["allow_stdio", "stdio"],
  ["allow_http", "http"],
  ["allow_sse", "sse"],
  ["allow_streamable_http", "streamable_http"],
];

function transportWords(policy) {
  const allowed = TRANSPORTS.filter(([key]) => policy[key]).map(([, words]) => words);
  if (allowed.length === TRANSPORTS.length) return "allows every transport";
  return allowed.length ? `allows ${allowed.join(", ")} alone` : "allows no transport";
}

// A policy in one sentence.
export function policyWords(policy) {
  const said = [transportWords(policy)];
  if (policy.allow.length) said.push(`only the servers ${policy.allow.join(", ")}`);
  if (policy.deny.length) said.push(`never ${policy.deny.join(", ")}`);
  const rewrites = Object.entries(policy.http_url_rewrite);
  if (rewrites.length)
    said.push(`rewrites ${rewrites.map(([from, to]) => `${from} to ${to}`).join(", ")}`);
  const injected = Object.keys(policy.env_injection);
  if (injected.length) said.push(`sets ${injected.join(", ")}`);
  if (!policy.stdio_proxy) said.push("no proxy, so stdio cannot be shared");
  return visible(`${said.join("; ")}.`);
}

// Whose policy holds for an executor.
export function ownerWords(row) {
  if (row.policy_of === row.executor) return "its own";
  return row.policy_of === "the default" ? "the default" : `that of ${row.policy_of}`;
}
