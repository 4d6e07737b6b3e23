// Records that several people may write: read with their version, written only over what was read.

import { api } from "./store.js";

/**
 * @param {string} method
 * @param {string} path
 * @param {any} [body]
 * @param {string} [version] as it was read
 * @throws {import("./store.js").Refused} of status 412 if somebody else wrote it since
 */
export async function writeRecord(method, path, body, version = "") {
  const answer = await api(method, path, body, undefined, version ? { "if-match": version } : {});
  return {
    value: await answer.json().catch(() => ({})),
    version: answer.headers.get("etag") || "",
  };
}

export const readRecord = (path) => writeRecord("GET", path);
