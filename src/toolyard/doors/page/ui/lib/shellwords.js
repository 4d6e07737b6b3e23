// A command as one line: its words as a shell would part them, and back.

const PLAIN = /^[\w./:=@+,%~[\]{}$-]+$/;

/** @param {string[]} words */
export function joinWords(words) {
  const quote = (word) => (PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
  return words.map(quote).join(" ");
}

/**
 * Quotes and backslashes count as in a shell; nothing is expanded.
 * @param {string} line
 * @returns {string[]}
 */
export function splitWords(line) {
  const words = [];
  let word = null; // null between words: '' is one, too
  let quote = "";
  for (let at = 0; at < line.length; at += 1) {
    const letter = line[at];
    const next = line[at + 1] ?? "";
    const isEscape = letter === "\\" && (quote ? quote === '"' && /["\\$`]/.test(next) : next);
    if (isEscape) {
      at += 1;
      word = (word ?? "") + line[at];
    } else if (quote) {
      if (letter === quote) quote = "";
      else word += letter;
    } else if (letter === "'" || letter === '"') {
      quote = letter;
      word = word ?? "";
    } else if (/\s/.test(letter)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? "") + letter;
  }
  return word === null ? words : [...words, word];
}
