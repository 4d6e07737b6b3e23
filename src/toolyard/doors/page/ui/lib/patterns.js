// The lists of a profile as the hub reads them, and what a tick does to them.
//
// A line names a server (`git`, `git@configured`), a tool (`git/log`) or the name that clients see
// (`git__log`); `*`, `?` and `[…]` stand for any characters, and `!` excepts from what is hidden.

/**
 * @typedef {object} Lists
 * @property {boolean} isOnly only what `allow` names is shown; else everything is
 * @property {string[]} allow
 * @property {string[]} hide
 *
 * @typedef {object} Server
 * @property {string[]} names the first is the one that is written down
 * @property {string} mark stands before a tool in the name that clients see: `git__`
 *
 * @typedef {Server & { tool: string }} Tool
 */

const MOST = 2000;
const parsed = new Map(); // the same few patterns are asked about every tool, with every letter

function parse(pattern) {
  if (parsed.size > MOST) parsed.clear();
  if (!parsed.has(pattern)) parsed.set(pattern, partsOf(pattern));
  return parsed.get(pattern);
}

// The parts of a pattern: null for any text, else a test of one character.
function partsOf(pattern) {
  const parts = [];
  for (let at = 0; at < pattern.length; at += 1) {
    const sign = pattern[at];
    const end = sign === "[" ? endOfSet(pattern, at) : -1;
    if (sign === "*") parts.push(null);
    else if (sign === "?") parts.push(() => true);
    else if (end > 0) {
      parts.push(inSet(pattern.slice(at + 1, end)));
      at = end;
    } else parts.push((character) => character === sign);
  }
  return parts;
}

// Where a set ends; a bracket that comes first in it is a member. -1 if it does not end.
function endOfSet(pattern, at) {
  let from = at + 1;
  if (pattern[from] === "!") from += 1;
  return pattern.indexOf("]", from + 1);
}

function inSet(set) {
  const isNegated = set.startsWith("!");
  const members = isNegated ? set.slice(1) : set;
  return (character) => {
    for (let at = 0; at < members.length; at += 1) {
      const isRange = members[at + 1] === "-" && at + 2 < members.length;
      const last = isRange ? members[at + 2] : members[at];
      if (character >= members[at] && character <= last) return !isNegated;
      if (isRange) at += 2;
    }
    return isNegated;
  };
}

/**
 * Whether a pattern fits a whole text; the time it takes is at most their lengths multiplied.
 * @param {string} pattern
 * @param {string} text
 */
export function matches(pattern, text) {
  const parts = parse(pattern);
  let [at, from, star, mark] = [0, 0, -1, 0];
  while (from < text.length) {
    const test = parts[at];
    if (test === null) {
      star = at;
      mark = from;
      at += 1;
    } else if (test?.(text[from])) {
      at += 1;
      from += 1;
    } else if (star >= 0) {
      mark += 1;
      from = mark;
      at = star + 1;
    } else return false;
  }
  return parts.slice(at).every((part) => part === null);
}

const fits = (lines, texts) => lines.some((line) => texts.some((text) => matches(line, text)));

/** @param {Tool} tool */
export function spellings({ names, mark, tool }) {
  return [...names, ...names.map((name) => `${name}/${tool}`), `${mark}${tool}`];
}

function isHidden(hide, texts) {
  const hidden = hide.filter((line) => !line.startsWith("!"));
  const excepted = hide.filter((line) => line.startsWith("!")).map((line) => line.slice(1));
  return fits(hidden, texts) && !fits(excepted, texts);
}

/** @param {Lists} lists @param {Tool} tool */
export function isShown({ isOnly, allow, hide }, tool) {
  const texts = spellings(tool);
  if (isHidden(hide, tool.names) || isHidden(hide, texts)) return false;
  return !isOnly || fits(allow, texts);
}

/** Whether all of a server is shown, with the tools that it gets later. */
export function isWhole({ isOnly, allow, hide }, { names }) {
  return !isHidden(hide, names) && (!isOnly || fits(allow, names));
}

const lineOf = ({ names, tool }) => `${names[0]}/${tool}`;

/**
 * The lists with which a tool is shown, or is not; a pattern may be in the way of that.
 * @param {Lists} lists
 * @param {Tool} tool
 * @param {boolean} isWanted
 * @returns {Lists}
 */
export function withTool(lists, tool, isWanted) {
  const own = spellings(tool).slice(tool.names.length); // those of the tool, without its server's
  return isWanted ? showTool(lists, tool, own) : hideTool(lists, tool, own);
}

function showTool({ isOnly, allow, hide }, tool, own) {
  const line = lineOf(tool);
  // A server that is hidden by its name hides all; by its tools, it can have exceptions.
  let hidden = hide
    .filter((pattern) => !own.includes(pattern))
    .map((pattern) => (tool.names.includes(pattern) ? `${pattern}/*` : pattern));
  if (isHidden(hidden, spellings(tool))) hidden = [...hidden, `!${line}`];
  const isAllowed = !isOnly || fits(allow, spellings(tool));
  return { isOnly, allow: isAllowed ? allow : [...allow, line], hide: hidden };
}

function hideTool({ isOnly, allow, hide }, tool, own) {
  const lists = {
    isOnly,
    allow: allow.filter((pattern) => !own.includes(pattern)),
    hide: hide.filter((pattern) => !own.includes(pattern.slice(1)) || pattern[0] !== "!"),
  };
  if (isShown(lists, tool)) lists.hide = [...lists.hide, lineOf(tool)];
  return lists;
}

/**
 * The lists with which all of a server is shown, or nothing of it.
 * @param {Lists} lists
 * @param {Server & { tools: Tool[] }} server
 * @param {boolean} isWanted
 * @returns {Lists}
 */
export function withServer(lists, server, isWanted) {
  return isWanted ? showServer(lists, server) : hideServer(lists, server);
}

// The lists without a word about a server or its tools.
function withoutServer({ isOnly, allow, hide }, { names, mark }) {
  const isAbout = (line) => {
    const text = line.startsWith("!") ? line.slice(1) : line;
    const isTool = names.some((name) => text.startsWith(`${name}/`)) || text.startsWith(mark);
    return isTool || names.includes(text);
  };
  return {
    isOnly,
    allow: allow.filter((line) => !isAbout(line)),
    hide: hide.filter((line) => !isAbout(line)),
  };
}

function showServer(lists, server) {
  const { names, tools } = server;
  const shown = withoutServer(lists, server);
  if (isHidden(shown.hide, names)) shown.hide.push(`!${names[0]}`);
  if (shown.isOnly && !fits(shown.allow, names)) shown.allow.push(names[0]);
  // What a pattern hides is an exception from it.
  return tools.reduce((now, tool) => (isShown(now, tool) ? now : withTool(now, tool, true)), shown);
}

function hideServer(lists, server) {
  const hidden = withoutServer(lists, server);
  const isStillShown = server.tools.some((tool) => isShown(hidden, tool));
  if (isStillShown || isWhole(hidden, server)) hidden.hide.push(server.names[0]);
  return hidden;
}
