// Numbers with units, times as people say them, and characters that hide made visible.

const CONTROLS = "\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f";
const BLANKS = "\\u00ad\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u3164\\uffa0";
const DIRECTIONS = "\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f";
const SELECTORS = "\\u180b-\\u180f\\ufe00-\\ufe0f\\ufeff\\ufff0-\\uffff";
const TAGS = "\\udb40[\\udc00-\\udfff]";
const HALF_PAIRS = "[\\ud800-\\udbff](?![\\udc00-\\udfff])|(?<![\\ud800-\\udbff])[\\udc00-\\udfff]";
const HIDDEN = new RegExp(
  `[${CONTROLS}${BLANKS}${DIRECTIONS}${SELECTORS}]|${TAGS}|${HALF_PAIRS}`,
  "g",
);

// What cannot be seen, or turns the direction of what follows, is spelled out.
export function visible(said) {
  return String(said ?? "").replace(HIDDEN, (character) => {
    const code = Number(character.codePointAt(0)).toString(16).toUpperCase();
    return `⟨U+${code.padStart(4, "0")}⟩`;
  });
}

export function short(said, most = 200) {
  const words = visible(said);
  return words.length > most ? `${words.slice(0, most)}…` : words;
}

export function count(number, one, many = `${one}s`) {
  return `${whole(number)} ${number === 1 ? one : many}`;
}

export function whole(number) {
  return Number(number).toLocaleString("en");
}

export function ms(number) {
  if (!number) return "–";
  if (number < 1) return "< 1 ms";
  if (number < 1000) return `${Math.round(number)} ms`;
  return number < 60000 ? `${(number / 1000).toFixed(1)} s` : `${(number / 60000).toFixed(1)} min`;
}

export function bytes(number) {
  if (number === null || number === undefined) return "–";
  const units = ["B", "kB", "MB", "GB"];
  let at = 0;
  while (number >= 1000 && at < units.length - 1) {
    number /= 1000;
    at += 1;
  }
  return `${number < 10 && at ? number.toFixed(1) : Math.round(number)} ${units[at]}`;
}

export function tokens(number) {
  if (!number) return "–";
  return number < 1000 ? `~${number}` : `~${(number / 1000).toFixed(1)} k`;
}

export function seconds(number) {
  if (number < 60) return `${Math.round(number)} s`;
  if (number < 3600) return `${Math.round(number / 60)} min`;
  return number < 172800 ? `${Math.round(number / 3600)} h` : `${Math.round(number / 86400)} days`;
}

export function ago(when) {
  const past = (Date.now() - new Date(when).getTime()) / 1000;
  return past < 5 ? "just now" : `${seconds(past)} ago`;
}

export function exact(when) {
  return new Date(when).toLocaleString("sv", { timeZoneName: "short" });
}

const CODES = {
  400: "that could not be read",
  401: "this browser is not let in",
  403: "that is not allowed",
  404: "there is no such thing",
  409: "something stands in the way",
  412: "it has changed meanwhile",
};
export function statusWords(code) {
  return CODES[code] || `the hub answered ${code}`;
}
