// What this browser keeps for the page. One that keeps nothing knows it until the page is left.

const own = new Map();

/** @param {string} name @returns {string} empty if nothing is kept */
export function recall(name) {
  try {
    return localStorage.getItem(name) ?? own.get(name) ?? "";
  } catch {
    return own.get(name) ?? "";
  }
}

/** @param {string} name @param {string} value */
export function remember(name, value) {
  own.set(name, value);
  try {
    localStorage.setItem(name, value);
  } catch {
    /* it is known here */
  }
}
