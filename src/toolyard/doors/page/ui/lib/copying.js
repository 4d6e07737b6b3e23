// Text that is to be taken elsewhere: shown to be selected, and copied with one press.

import { h } from "./dom.js";
import { button, say } from "./parts.js";

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    say("Copied.");
  } catch {
    say("The browser does not let a page copy; select the text instead.", "bad");
  }
}

export const copyable = (text, label) =>
  h(
    "div",
    { class: "copyable", role: "group", "aria-label": label },
    h("code", null, text),
    button("Copy", () => copy(text), { "aria-label": `Copy the ${label}` }),
  );
