// Profiles: named selections of servers and tools.

import { h } from "../lib/dom.js";
import { heads, looking, submit, top } from "../lib/bits.js";
import { ask, onPicture, state } from "../lib/store.js";
import { complain, empty, link } from "../lib/parts.js";
import { visible } from "../lib/words.js";
import { field, textInput } from "../lib/editing.js";
import { profilePath } from "../lib/paths.js";

export function open(place) {
  let profiles = null;
  let name = ""; // of a new one, as it is typed
  const load = () =>
    ask("/profiles").then((answer) => {
      profiles = answer.profiles;
      place.redraw();
    }, complain);
  onPicture(place, load);
  load();

  const summary = (profile) =>
    [
      profile.allow.length ? `shows ${profile.allow.join(", ")}` : "shows everything",
      profile.hide.length ? `hides ${profile.hide.join(", ")}` : "",
      profile.pin.length ? `pins ${profile.pin.join(", ")}` : "",
    ]
      .filter(Boolean)
      .join("; ");

  const row = (profile) =>
    h(
      "tr",
      { key: profile.name },
      h(
        "th",
        { scope: "row" },
        link(profilePath(profile.name), visible(profile.title || profile.name)),
      ),
      h("td", { class: "whole" }, visible(summary(profile))),
      h("td", { class: "whole" }, h("code", null, `${state.status?.url || ""}${profile.path}`)),
    );

  function table() {
    if (!profiles) return looking();
    if (profiles.length) {
      return h(
        "table",
        { class: "stack" },
        heads(["Profile", "What it shows", "Address"]),
        h("tbody", null, profiles.map(row)),
      );
    }
    const words =
      "A profile gives a client only the tools it needs, which saves its model tokens. Create one below.";
    return empty("No profile yet.", h("p", null, words));
  }

  return () => [
    top(
      "Profiles",
      "A profile shows some clients only some of the tools, at an address of its own.",
    ),
    table(),
    h(
      "form",
      { key: "new", class: "card column", on: { submit: () => place.go(profilePath(name)) } },
      field(
        "New profile",
        textInput(
          "profile-name",
          name,
          (text) => {
            name = text;
            place.redraw();
          },
          { pattern: "[A-Za-z0-9_][A-Za-z0-9_.\\-]{0,63}" },
        ),
        "Its name: letters, digits, - _ and .",
      ),
      h("p", null, submit("Create it", !name)),
    ),
  ];
}
