// Records that several people may write: read with their version, written only over what was read.

import { Refused, tell } from "./store.js";

async function send(method, path, body, version) {
  const headers = {};
  if (body !== undefined) headers["content-type"] = "application/json";
  if (version) headers["if-match"] = version;
  const options = { method, headers, cache: "no-store", body: body === undefined ? undefined : JSON.stringify(body) };
  const answer = await fetch(`/api/v1${path}`, options);
  if (answer.status === 401) tell({ isLetIn: false });
  const value = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, value);
  return { value, version: answer.headers.get("etag") || "" };
}

export const readRecord = (path) => send("GET", path);

// Throws a Refused of status 412 if somebody else wrote it since.
export const writeRecord = (method, path, body, version) => send(method, path, body, version);
