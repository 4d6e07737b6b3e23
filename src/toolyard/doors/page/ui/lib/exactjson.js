// JSON with numbers that JavaScript cannot hold: they are shown, and written, as they were read.

const MARK = `number ${crypto.getRandomValues(new Uint32Array(4)).join("-")} `; // nobody can guess it
const MARKED = new RegExp(`"${MARK}([^"]*)"`, "g");
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const HELD_DIGITS = 15; // so many are held of any number

/** A number as it is written. */
export class ExactNumber {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
  }

  toString() {
    return this.text;
  }

  valueOf() {
    return Number(this.text);
  }
}

const plain = (text) =>
  text
    .toLowerCase()
    .replace("+", "")
    .replace(/e(-?)0+(?=\d)/, "e$1");

function isHeld(text) {
  const number = Number(text);
  if (plain(String(number)) === plain(text)) return true;
  const digits = text
    .replace(/[eE].*/, "")
    .replace(/[-.]/g, "")
    .replace(/^0+/, "");
  const isThere = Number.isFinite(number) && (number !== 0 || !digits);
  return isThere && digits.length <= HELD_DIGITS;
}

/**
 * @param {string} text
 * @returns {any} with an `ExactNumber` for each number that would be another otherwise
 * @throws {SyntaxError} if it is no JSON
 */
export function readJson(text) {
  const value = JSON.parse(text);
  let isExact = true;
  const marked = text.replace(TOKEN, (token) => {
    if (token.startsWith('"') || isHeld(token)) return token;
    isExact = false;
    return `"${MARK}${token}"`;
  });
  return isExact ? value : JSON.parse(marked, unmark);
}

const unmark = (_key, value) =>
  typeof value === "string" && value.startsWith(MARK)
    ? new ExactNumber(value.slice(MARK.length))
    : value;

const mark = (_key, value) => (value instanceof ExactNumber ? MARK + value.text : value);

/** @param {any} value @param {number} [indent] */
export function writeJson(value, indent) {
  return JSON.stringify(value, mark, indent)?.replace(MARKED, "$1");
}
