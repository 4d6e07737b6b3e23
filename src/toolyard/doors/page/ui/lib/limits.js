// Limits in the words of `toolyard limit`: read from a form, and told in a table.

import { bytes, count, visible, whole } from "./words.js";

const SPANS = { "": 1, s: 1, m: 60, h: 3600, d: 86400 };
const SIZES = { "": 1, k: 1e3, m: 1e6, g: 1e9 };
const USUAL_SECONDS = 60;
/** What a limit can be about, in the order in which it is told. */
export const PARTS = ["member", "token", "agent", "server", "tool"];

/** @param {string} text as 90, 90s, 15m, 1h or 1d @returns {number} seconds */
export function readSpan(text) {
  const [, number, unit] = /^(\d+(?:\.\d+)?)\s*([smhd]?)$/.exec(text.trim()) || [];
  if (!number) throw new Error(`“${text}” is not a time; write it as 90s, 15m, 1h or 1d`);
  return Number(number) * SPANS[unit];
}

/** @param {string} text as 5000, 64kB, 10MB or 1GB; nothing is 0 @returns {number} bytes */
export function readSize(text) {
  if (!text.trim()) return 0;
  const [, number, unit] = /^(\d+)\s*([kmg]?)b?$/i.exec(text.trim()) || [];
  if (!number) throw new Error(`“${text}” is not a size; write it as 5000, 64kB, 10MB or 1GB`);
  return Number(number) * SIZES[unit.toLowerCase()];
}

const LARGEST_SPANS = ["d", "h", "m"];
const LARGEST_SIZES = ["g", "m", "k"];

/** @param {number} seconds @returns {string} that `readSpan` reads */
export function writeSpan(seconds) {
  const unit = LARGEST_SPANS.find((name) => seconds >= SPANS[name] && seconds % SPANS[name] === 0);
  return unit ? `${seconds / SPANS[unit]}${unit}` : `${seconds}s`;
}

/** @param {number} size in bytes @returns {string} that `readSize` reads; empty for 0 */
export function writeSize(size) {
  if (!size) return "";
  const unit = LARGEST_SIZES.find((name) => size % SIZES[name] === 0);
  return unit ? `${size / SIZES[unit]}${unit === "k" ? "k" : unit.toUpperCase()}B` : String(size);
}

/** Whom and what a limit is about. */
export function aboutOf(limit) {
  const names = { ...limit, member: limit.member_label || limit.member };
  const told = PARTS.filter((part) => names[part]).map((part) =>
    names[part] === "*" ? `each ${part}` : `${part} ${visible(names[part])}`,
  );
  return told.join(", ") || "all calls";
}

/** What a limit allows, a line for each figure. */
export function allowsOf({ calls, bytes: size, seconds, concurrent, instances }) {
  const span = writeSpan(seconds);
  return [
    calls ? `${count(calls, "call")} per ${span}` : "",
    size ? `${bytes(size)} per ${span}` : "",
    concurrent ? `${count(concurrent, "call")} at a time` : "",
    instances ? count(instances, "running server") : "",
  ].filter(Boolean);
}

/** How much of a limit somebody has used. */
export function useOf({ figure, used, allowed }) {
  if (figure === "bytes") return `${bytes(used)} of ${bytes(allowed)}`;
  return `${whole(used)} of ${whole(allowed)} calls${figure === "concurrent" ? " under way" : ""}`;
}

const figureText = (number) => (number ? String(number) : "");

/** A limit as its form holds it. */
export function draftOf(limit) {
  return {
    ...limit,
    member: limit.member_label || limit.member,
    calls: figureText(limit.calls),
    bytes: writeSize(limit.bytes),
    per: writeSpan(limit.seconds),
    concurrent: figureText(limit.concurrent),
    instances: figureText(limit.instances),
  };
}

/**
 * What the API is told of a limit.
 * @throws {Error} for a time or size that cannot be read
 */
export function bodyOf(draft) {
  const about = Object.fromEntries(PARTS.map((part) => [part, draft[part].trim()]));
  return {
    name: draft.name,
    ...about,
    calls: Number(draft.calls) || 0,
    bytes: readSize(draft.bytes),
    seconds: draft.per.trim() ? readSpan(draft.per) : USUAL_SECONDS,
    concurrent: Number(draft.concurrent) || 0,
    instances: Number(draft.instances) || 0,
  };
}

export const NEW_LIMIT = draftOf({
  name: "",
  ...Object.fromEntries(PARTS.map((part) => [part, ""])),
  seconds: USUAL_SECONDS,
});
