// How a call ended, with its light.

import { light } from "./parts.js";
import { visible } from "./words.js";

const LIGHTS = { ok: "ready", cancelled: "disabled" };

export function outcome(call) {
  return light(LIGHTS[call.outcome] || "failing", visible(call.outcome));
}
