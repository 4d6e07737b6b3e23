// Records that several people may write: read with their version, written only over what was read.

import { h } from "./dom.js";
import { button } from "./parts.js";
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

/**
 * Say that a record was not saved, as another one is there, and let one choose.
 * @param {string} title
 * @param {() => void} look at theirs
 * @param {() => void} save one's own over it
 */
export function clash(title, look, save) {
  return h(
    "div",
    { key: "clash", class: "card waits", role: "alert" },
    h("p", { class: "title" }, title),
    h("p", null, "Yours is still here and was not saved."),
    h(
      "p",
      { class: "row" },
      button("Look at theirs", look),
      button("Save mine over it", save, { class: "danger" }),
    ),
  );
}
