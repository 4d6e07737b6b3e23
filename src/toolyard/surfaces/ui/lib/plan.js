// What a run of an agent gets, and what is left out, each with its reason.

import { h } from "./dom.js";
import { looking, quiet, tag } from "./bits.js";
import { button } from "./parts.js";
import { openWhy } from "./story.js";
import { count, visible } from "./words.js";

function where(plan) {
  const { endpoint } = plan;
  return endpoint.url || [endpoint.command, ...(endpoint.args || [])].join(" ");
}

function planned(plan, made) {
  return h("li", { key: `plan ${plan.name}` }, h("div", { class: "row spread" },
    h("span", null, h("strong", null, visible(plan.name)), tag(plan.transport), tag(plan.mode.replace("_", " ")),
      tag(plan.via === "hub" ? "through the hub" : "direct")),
    button("Why", () => openWhy(plan.name, made.agent, made.executor), { "aria-label": `Why ${plan.name} is given` })),
  h("code", { class: "where" }, visible(where(plan))));
}

function refused(refusal, made) {
  return h("li", { key: `no ${refusal.name}`, class: "refused" }, h("div", { class: "row spread" },
    h("span", null, h("strong", null, visible(refusal.name)), h("span", { class: "tag bad" }, "left out")),
    button("Why", () => openWhy(refusal.name, made.agent, made.executor), { "aria-label": `Why ${refusal.name} is left out` })),
  h("p", null, visible(refusal.text)), quiet(visible(refusal.hint)));
}

export function plan(made) {
  if (!made) return looking();
  if (!made.enabled) return h("p", null, "It is switched off, so a run gets no servers.");
  if (!made.servers.length && !made.refusals.length) return h("p", null, "A run gets no servers: the list is empty.");
  return [
    quiet(`A run gets ${count(made.servers.length, "server")}`, made.refusals.length ? `, ${made.refusals.length} left out.` : "."),
    h("ul", { class: "plain" }, made.refusals.map((each) => refused(each, made)), made.servers.map((each) => planned(each, made))),
  ];
}

const WORDS = [["allow_stdio", "stdio"], ["allow_http", "http"], ["allow_sse", "sse"], ["allow_streamable_http", "streamable_http"]];

// A policy in one sentence.
export function policyWords(policy) {
  const allowed = WORDS.filter(([key]) => policy[key]).map(([, words]) => words);
  const said = [allowed.length === 4 ? "allows every transport" : allowed.length ? `allows ${allowed.join(", ")} alone` : "allows no transport"];
  if (policy.allow.length) said.push(`only the servers ${policy.allow.join(", ")}`);
  if (policy.deny.length) said.push(`never ${policy.deny.join(", ")}`);
  const rewrites = Object.entries(policy.http_url_rewrite);
  if (rewrites.length) said.push(`rewrites ${rewrites.map(([from, to]) => `${from} to ${to}`).join(", ")}`);
  const injected = Object.keys(policy.env_injection);
  if (injected.length) said.push(`sets ${injected.join(", ")}`);
  if (!policy.stdio_proxy) said.push("no proxy, so stdio cannot be shared");
  return visible(`${said.join("; ")}.`);
}
