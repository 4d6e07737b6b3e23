// The one way in which anything gets onto the page: trees of plain values, laid over what is there.
//
// Text is set as text and nothing is ever parsed as HTML, so whatever a server says stays words.
// A node may have a `key`; those of one parent must differ. `on` holds its listeners.

import { visible } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";
const AS_PROPERTY = new Set([
  "value",
  "checked",
  "disabled",
  "open",
  "selected",
  "hidden",
  "indeterminate",
]);
const READ_BY_PEOPLE = /^(aria-label|title|alt|placeholder)$/;
const REFUSED = /^(on|style$|srcdoc$|innerhtml$)/i;

/**
 * @typedef {object} VNode an element to be
 * @property {string} tag
 * @property {Record<string, any>} attrs
 * @property {Array<VNode | string>} kids
 *
 * @typedef {VNode | string | number | boolean | null | undefined | any[]} Kid lists are laid flat
 */

/**
 * @param {string} tag
 * @param {Record<string, any> | null} attrs
 * @param {...Kid} kids
 * @returns {VNode}
 */
export function h(tag, attrs, ...kids) {
  return { tag, attrs: attrs || {}, kids: flat(kids, []) };
}

/** @param {string} id @returns {HTMLElement} an element that the shell has */
export function byId(id) {
  const node = document.getElementById(id);
  if (!node) throw new Error(`the page has no #${id}`);
  return node;
}

/** @returns {() => void} gives the focus back to what has it now */
export function rememberFocus() {
  const focused = document.activeElement;
  return () => {
    if (focused instanceof HTMLElement) focused.focus();
  };
}

/**
 * What `make` gave when `sign` was the same; what is the same is not even looked at.
 * @param {Map<string, {sign: string, node: VNode}>} memory
 * @param {string} key
 * @param {string} sign
 * @param {() => VNode} make
 */
export function remembered(memory, key, sign, make) {
  const before = memory.get(key);
  if (before && before.sign === sign) return before.node;
  const node = make();
  memory.set(key, { sign, node });
  return node;
}

/** @param {Kid[]} kids @param {Array<VNode | string>} out */
function flat(kids, out) {
  for (const kid of kids) {
    if (Array.isArray(kid)) flat(kid, out);
    else if (kid !== null && kid !== undefined && kid !== false && kid !== true) {
      out.push(typeof kid === "object" ? kid : String(kid));
    }
  }
  return out;
}

/**
 * Make the children of `parent` what `kids` says; what did not change is not touched.
 * @param {Element} parent
 * @param {...Kid} kids
 */
export function render(parent, ...kids) {
  patch(parent, flat(kids, []), parent.namespaceURI === SVG);
}

function patch(parent, kids, inSvg) {
  const keyed = new Map();
  for (let node = parent.firstChild; node; node = node.nextSibling) {
    const key = node.drawn?.key;
    if (key !== undefined) keyed.set(key, node);
  }
  let at = parent.firstChild;
  for (const kid of kids) {
    const node = typeof kid === "string" ? text(at, kid) : element(at, kid, keyed, inSvg);
    // One that goes further down must not make all that follow move up past it.
    if (node !== at && at && at.nextSibling === node) {
      parent.appendChild(at);
      at = node;
    }
    if (node === at) at = at.nextSibling;
    else parent.insertBefore(node, at);
  }
  while (at) {
    const next = at.nextSibling;
    parent.removeChild(at);
    at = next;
  }
}

function text(at, words) {
  if (at && at.nodeType === 3) {
    if (at.data !== words) at.data = words;
    return at;
  }
  return document.createTextNode(words);
}

function element(at, kid, keyed, inSvg) {
  const key = kid.attrs.key;
  const svg = inSvg || kid.tag === "svg";
  let node = key !== undefined ? keyed.get(key) : at;
  const fits = node && node.drawn && node.drawn.tag === kid.tag && node.drawn.key === key;
  if (!fits) {
    node = svg ? document.createElementNS(SVG, kid.tag) : document.createElement(kid.tag);
    node.drawn = { tag: kid.tag, key, attrs: {}, on: {} };
  }
  if (fits && node.drawn.last === kid) return node;
  node.drawn.last = kid;
  patch(node, kid.kids, svg);
  dress(node, kid.attrs);
  return node;
}

function dress(node, attrs) {
  const old = node.drawn.attrs;
  for (const name of Object.keys(old)) if (!(name in attrs)) set(node, name, undefined);
  for (const [name, value] of Object.entries(attrs)) {
    if (name === "on") listen(node, value);
    else if (name === "key" || name === "made") continue;
    // What a person folded or unfolded stays so.
    else if (old[name] !== value || (AS_PROPERTY.has(name) && name !== "open"))
      set(node, name, value);
  }
  const isNew = !node.drawn.dressed;
  node.drawn.dressed = true;
  node.drawn.attrs = attrs;
  if (isNew && attrs.made) queueMicrotask(() => attrs.made(node));
}

function set(node, name, value) {
  if (REFUSED.test(name)) return;
  if (AS_PROPERTY.has(name)) {
    const usual = name === "value" ? "" : false;
    const wanted = value === undefined ? usual : value;
    if (node[name] !== wanted) node[name] = wanted;
  } else if (value === undefined || value === null || value === false) node.removeAttribute(name);
  else if ((name === "href" || name === "src") && !isSafe(String(value)))
    node.removeAttribute(name);
  else if (value === true) node.setAttribute(name, "");
  else node.setAttribute(name, READ_BY_PEOPLE.test(name) ? visible(value) : String(value));
}

const LINK = /^(\/(?!\/)|#|https?:\/\/)/i;
const MEDIA = /^data:(image\/(png|jpeg|gif|webp)|audio\/[\w.+-]+);base64,/i;

// Addresses a server names may lead to the web, and nowhere else.
export function isSafe(address) {
  return LINK.test(address) || MEDIA.test(address);
}

function listen(node, on) {
  for (const kind of Object.keys(on)) {
    if (!(kind in node.drawn.on))
      node.addEventListener(kind, (event) => node.drawn.on[kind]?.(event));
  }
  for (const kind of Object.keys(node.drawn.on)) if (!(kind in on)) node.drawn.on[kind] = null;
  Object.assign(node.drawn.on, on);
}
