// JSON Schema as far as a form needs it: pure functions of schemas, values and paths.

import { ExactNumber } from "./exactjson.js";

/**
 * @typedef {Record<string, any>} Schema
 * @typedef {Array<string | number>} Path
 */

export const MAX_DEPTH = 6;
export const MAX_FIELDS = 150;
const MAX_REFERENCES = 8;
const BLANKS = { string: "", number: 0, integer: 0, boolean: false, array: [], object: {} };

/**
 * The schema with references and `allOf` followed, as far as that is safe.
 * @param {Schema} root where references lead
 * @param {any} schema
 * @param {number} [depth]
 * @returns {Schema}
 */
export function resolve(root, schema, depth = 0) {
  if (schema === null || typeof schema !== "object") return {};
  if (depth >= MAX_REFERENCES) return schema;
  let resolved = schema;
  if (typeof resolved.$ref === "string") {
    const { $ref, ...siblings } = resolved;
    resolved = { ...resolve(root, target(root, $ref), depth + 1), ...siblings };
  }
  if (Array.isArray(resolved.allOf)) {
    for (const part of resolved.allOf) resolved = merge(resolve(root, part, depth + 1), resolved);
  }
  return resolved;
}

/** @param {Schema} root @param {string} reference a JSON pointer within the document */
function target(root, reference) {
  const names = reference.replace(/^#\/?/, "").split("/").filter(Boolean);
  return names.reduce((/** @type {any} */ at, name) => at?.[unescape(name)], root);
}

/** @param {string} name one step of a JSON pointer */
function unescape(name) {
  return decodeURIComponent(name).replace(/~1/g, "/").replace(/~0/g, "~");
}

/** @param {Schema} part @param {Schema} whole */
function merge(part, whole) {
  return {
    ...part,
    ...whole,
    properties: { ...part.properties, ...whole.properties },
    required: [...(part.required || []), ...(whole.required || [])],
  };
}

/**
 * The schemas a value may follow, where there are several to choose from.
 * @param {Schema} schema
 * @returns {Schema[] | null}
 */
export function variantsOf(schema) {
  const variants = schema.oneOf || schema.anyOf;
  if (Array.isArray(variants) && variants.length) return variants;
  if (Array.isArray(schema.type) && schema.type.length > 1) {
    return schema.type.map((type) => ({ ...schema, type }));
  }
  return null;
}

/** @param {Schema} schema @returns {string} the type it names or implies; empty if neither */
export function typeOf(schema) {
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type) return type;
  if (schema.properties) return "object";
  return schema.items ? "array" : "";
}

/** @param {Schema} schema @param {string} name */
export function isRequired(schema, name) {
  return (schema.required || []).includes(name);
}

/**
 * The value a form starts with: defaults, constants, and the required members of objects.
 * @param {Schema} root
 * @param {any} schema
 * @param {number} depth
 * @returns {any}
 */
export function initialValue(root, schema, depth) {
  const resolved = resolve(root, schema);
  if (resolved.default !== undefined) return structuredClone(resolved.default);
  if (resolved.const !== undefined) return resolved.const;
  if (typeOf(resolved) !== "object" || depth > MAX_DEPTH) return undefined;
  /** @type {Record<string, any>} */
  const value = {};
  for (const [name, member] of Object.entries(resolved.properties || {}).slice(0, MAX_FIELDS)) {
    const hasDefault = resolve(root, member).default !== undefined;
    if (!hasDefault && !isRequired(resolved, name)) continue;
    const initial = initialValue(root, member, depth + 1);
    if (initial !== undefined) value[name] = initial;
  }
  return value;
}

/**
 * The value of an item that is added to a list.
 * @param {Schema} root
 * @param {any} schema
 * @param {number} depth
 */
export function blankItem(root, schema, depth) {
  const blank = /** @type {Record<string, any>} */ (BLANKS)[typeOf(resolve(root, schema))];
  return initialValue(root, schema, depth) ?? blank ?? null;
}

/**
 * The paths of required members that a value lacks.
 * @param {Schema} root
 * @param {any} schema
 * @param {any} value
 * @param {Path} [path]
 * @returns {Path[]}
 */
export function missingPaths(root, schema, value, path = []) {
  const resolved = resolve(root, schema);
  if (typeOf(resolved) !== "object" || path.length > MAX_DEPTH) return [];
  return Object.entries(resolved.properties || {}).flatMap(([name, member]) => {
    const inner = [...path, name];
    const isPresent = value && typeof value === "object" && name in value;
    if (isPresent) return missingPaths(root, member, value[name], inner);
    return isRequired(resolved, name) ? [inner] : [];
  });
}

/** @param {any} value @param {Path} path @returns {any} what stands there, or undefined */
export function valueAt(value, path) {
  return path.reduce((at, name) => at?.[name], value);
}

/**
 * A copy of `whole` with another value at a path; undefined takes a member away.
 * @param {any} whole
 * @param {Path} path
 * @param {any} value
 * @returns {any}
 */
export function withValueAt(whole, [name, ...rest], value) {
  if (name === undefined) return value;
  if (Array.isArray(whole)) {
    /** @type {any} */
    const list = [...whole];
    list[name] = withValueAt(list[name], rest, value);
    return list;
  }
  const copy = whole && typeof whole === "object" ? { ...whole } : {};
  const inner = withValueAt(copy[name], rest, value);
  if (inner === undefined) delete copy[name];
  else {
    // Defined, not assigned: a member called `__proto__` is a member like any other.
    const property = { value: inner, enumerable: true, configurable: true, writable: true };
    Object.defineProperty(copy, name, property);
  }
  return copy;
}

/**
 * Which of several schemas a value follows: the first whose type and constants it shares.
 * @param {Schema} root
 * @param {Schema[]} variants
 * @param {any} value
 * @returns {number} -1 if there is none
 */
export function matchingVariant(root, variants, value) {
  if (value === undefined) return -1;
  return variants.findIndex((variant) => {
    const resolved = resolve(root, variant);
    if (resolved.const !== undefined) return isSame(resolved.const, value);
    return hasType(value, typeOf(resolved)) && sharesConstants(root, resolved, value);
  });
}

/** @param {any} value @param {string} type */
function hasType(value, type) {
  if (Array.isArray(value)) return type === "array";
  if (value === null) return type === "null";
  if (value instanceof ExactNumber) return type === "number" || type === "integer";
  return type === (type === "integer" && typeof value === "number" ? "integer" : typeof value);
}

/** @param {Schema} root @param {Schema} schema @param {any} value */
function sharesConstants(root, schema, value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return true;
  return Object.entries(schema.properties || {}).every(([name, member]) => {
    const constant = resolve(root, member).const;
    return constant === undefined || constant === value[name];
  });
}

/** @param {any} one @param {any} other */
export function isSame(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}
