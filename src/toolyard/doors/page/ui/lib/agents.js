// The switch of an agent, wherever it stands.

import { refresh, segment } from "./store.js";
import { complain, say } from "./parts.js";
import { readRecord, writeRecord } from "./records.js";

// The list is read first, so that the switch changes nothing else and overwrites nobody.
async function setEnabled(id, enabled) {
  const path = `/agents/${segment(id)}/config`;
  const { value, version } = await readRecord(path);
  const { servers, meta } = value;
  return writeRecord("PUT", path, { enabled, servers, meta }, version);
}

// Switch an agent, say so, and look again.
export async function turnAgent({ id, title }, enabled) {
  try {
    await setEnabled(id, enabled);
    say(enabled ? `${title} is given its servers.` : `${title} is given none.`);
    refresh();
  } catch (error) {
    complain(error);
  }
}
