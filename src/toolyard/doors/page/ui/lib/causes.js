// Problems of servers put together by their cause, and the one thing to do about each.

import { h } from "./dom.js";
import { segment } from "./store.js";
import { button, link, orderAll, run } from "./parts.js";
import { visible } from "./words.js";
import { serverPath } from "./paths.js";

const TOGETHER = {
  "pin-changed": "changed since you approved them",
  "pin-launch": "start in another way than you approved",
  "auth-needed": "want you to log in",
};

// The same sentence about several servers differs in their names alone.
function causeOf(server) {
  const { code, text } = server.problem;
  return code + withoutName(text, server, "…");
}

function withoutName(text, { alias, name }, instead) {
  const quoted = [alias, name].flatMap((word) => [`'${word}'`, `"${word}"`]);
  return quoted.reduce((words, word) => words.replaceAll(word, instead), text);
}

// A problem where the server is named beside it.
export function problemWords(problem, server) {
  const words = withoutName(problem.text, server, server.alias);
  const name = `${server.alias}: `;
  return visible(words.startsWith(name) ? words.slice(name.length) : words);
}

/**
 * Servers in the order they are shown: those with one cause beside each other.
 * @param {any[]} servers
 * @returns {{ cause: string, servers: any[] }[]}
 */
export function byCause(servers) {
  const groups = new Map();
  for (const server of servers) {
    const cause = server.problem ? causeOf(server) : "";
    groups.set(cause, [...(groups.get(cause) || []), server]);
  }
  return [...groups].map(([cause, members]) => ({ cause, servers: members }));
}

export function causeWords(servers) {
  const { code, text } = servers[0].problem;
  const known = TOGETHER[code];
  if (known) return `${servers.length} servers ${known}`;
  return `${servers.length} servers: ${withoutName(text, servers[0], "each")}`;
}

const isRetried = ({ code }) => !/^(pin-|auth-needed|secret-missing)/.test(code);
const startPath = (server) => `/servers/${segment(server.alias)}/activate`;

// The one button that mends several servers at once, where one can.
export function mendAll(servers) {
  if (!servers.every((server) => isRetried(server.problem))) return null;
  return button("Try all again", () => orderAll(servers.map(startPath), "They run."), {
    class: "small",
  });
}

async function logIn(server) {
  const page = await run(
    "A login page was opened.",
    "POST",
    `/auth/${segment(server.alias)}/login`,
  );
  if (page && /^https?:/.test(page.url)) window.open(page.url, "_blank", "noopener,noreferrer");
}

// The one button that mends a problem, where one can.
export function mend(problem, server, kind = "") {
  if (!server) return null;
  if (/^pin-(changed|launch|restless)/.test(problem.code))
    return h(
      "a",
      { href: `${serverPath(server.alias)}#changes`, class: `button ${kind}` },
      "Look and approve",
    );
  if (problem.code === "auth-needed") return button("Log in", () => logIn(server), { class: kind });
  if (problem.code === "secret-missing") return link(`${serverPath(server.alias)}/edit`, "Edit");
  return button("Try again", () => run(`${server.alias} runs.`, "POST", startPath(server)), {
    class: kind,
  });
}
