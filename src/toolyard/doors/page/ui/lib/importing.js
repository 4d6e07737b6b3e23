// An import from clients in words: what it means for a server, and how far it is.

/**
 * What the profiles of clients hide of a server, the same words once: "Codex, Cursor: only log".
 * @param {string} server
 * @param {{ title: string, hides: string[] }[]} clients
 * @returns {string[]}
 */
export function restrictionsOf(server, clients) {
  const titles = new Map();
  for (const { title, hides } of clients) {
    const words = hiddenWords(server, hides);
    if (words) titles.set(words, [...(titles.get(words) || []), title]);
  }
  const isAll = (who) => who.length > 1 && who.length === clients.length;
  return [...titles].map(
    ([words, who]) => `${isAll(who) ? "All clients" : who.join(", ")}: ${words}`,
  );
}

/** @param {string} server @param {string[]} patterns of a profile */
function hiddenWords(server, patterns) {
  const toolsAfter = (head) =>
    patterns.filter((line) => line.startsWith(head)).map((line) => line.slice(head.length));
  const hidden = toolsAfter(`${server}/`);
  const spared = toolsAfter(`!${server}/`);
  if (patterns.includes(server) || (hidden.includes("*") && !spared.length)) return "hidden";
  if (hidden.includes("*")) return `only ${spared.join(", ")}`;
  return hidden.length ? `without ${hidden.join(", ")}` : "";
}

/** The clients that have a server, by their titles, and the projects it is for. */
export function originsOf(server, clients) {
  const titles = new Map(clients.map(({ client, title }) => [client, title]));
  const names = server.sources.map(({ client }) => titles.get(client) || client);
  const projects = server.sources.map(({ project }) => project).filter(Boolean);
  return { clients: [...new Set(names)], projects: [...new Set(projects)] };
}

const LONGEST_PATH = 24;

/** A word of a command; of a long path only its end, of anything else all. */
export function shortPath(word) {
  if (!/^(~|\.\.?)?\//.test(word) || word.length <= LONGEST_PATH) return word;
  return `.../${word.replace(/\/+$/, "").split("/").pop()}`;
}

/** Whether a server stays where it is although nobody chose that. */
export function isStuck(server, left) {
  return server.action === "leave" && !left.has(server.name);
}

const SETTLED = new Set(["ready", "idle", "failing", "waiting", "disabled"]);

/** Whether a server is ready, or can say why it is not; `row` is undefined until it is noticed. */
export function hasSettled(row) {
  if (!row) return false;
  return SETTLED.has(row.state) || (row.state === "known" && Boolean(row.problem || row.tools));
}

/** How many of the servers can be used, and how many are still starting. */
export function progressOf(rows) {
  const isUsable = (row) => ["ready", "idle"].includes(row.state) || (row.tools && !row.problem);
  const settled = rows.filter(hasSettled);
  return { usable: settled.filter(isUsable).length, starting: rows.length - settled.length };
}
