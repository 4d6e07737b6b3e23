// A member: what they see, by which admission, and why they can use something or cannot.

import { h } from "../lib/dom.js";
import {
  crumbs,
  gone,
  heads,
  looking,
  quiet,
  sheet,
  submit,
  tag,
  top,
  under,
} from "../lib/bits.js";
import { ask, onPicture, segment, state } from "../lib/store.js";
import { button, complain, fold, link } from "../lib/parts.js";
import { count, visible } from "../lib/words.js";
import { field, textInput } from "../lib/editing.js";
import { limitsOf } from "../lib/admissions.js";
import { serverPath } from "../lib/paths.js";
import { steps } from "../lib/story.js";

const WHY_HELP = "The name of a server or a tool, for example git or git__push.";

export function open(place) {
  const { key } = place.params;
  let sight = null;
  let failure = null;
  let wanted = "";
  let story = null;

  async function load() {
    try {
      sight = await ask(`/resolve/member?member=${segment(key)}`);
      failure = null;
    } catch (error) {
      if (state.isLetIn) failure = error;
    }
    place.redraw();
  }

  async function explain(name) {
    wanted = name;
    try {
      story = await ask(`/why/member?name=${segment(name)}&member=${segment(key)}`);
    } catch (error) {
      story = null;
      complain(error);
    }
    place.redraw();
    document.getElementById("why")?.scrollIntoView({ block: "nearest" });
  }

  function typed(value) {
    wanted = value;
    place.redraw();
  }

  function told() {
    if (!story) return null;
    return h(
      "div",
      { key: "story", class: "story", role: "status" },
      h("p", { class: "title" }, visible(story.text)),
      quiet("Decided by: ", visible(story.decided.rule)),
      story.hint ? quiet(visible(story.hint)) : null,
      steps(story.steps),
      story.also.length ? quiet("Also offered by: ", visible(story.also.join(", "))) : null,
    );
  }

  function asking() {
    return h(
      "section",
      { key: "why", id: "why", class: "card", "aria-label": "Why" },
      h("h2", null, "Why"),
      h(
        "form",
        { class: "column", on: { submit: () => explain(wanted.trim()) } },
        field(
          "Server or tool",
          textInput("why-name", wanted, typed, { required: true, maxlength: 200 }),
          WHY_HELP,
        ),
        h("p", { class: "row" }, submit("Explain", !wanted.trim())),
      ),
      told(),
    );
  }

  function admissions() {
    if (!sight.admissions.length) return quiet("No group of theirs is admitted to anything.");
    const row = (admission) =>
      h(
        "tr",
        { key: admission.group },
        h(
          "th",
          { scope: "row" },
          admission.group === "*" ? "Everybody who logs in" : visible(admission.group),
        ),
        h("td", { "data-label": "Profiles" }, visible(admission.profiles.join(", "))),
        h("td", { "data-label": "Limits" }, limitsOf(admission)),
      );
    return h(
      "table",
      { class: "stack" },
      heads(["Group", "Profiles", "Limits"]),
      h("tbody", null, sight.admissions.map(row)),
    );
  }

  const needs = (server) =>
    server.missing.map((name) => (name ? `their secret ${visible(name)}` : "a login of theirs"));

  function tools(server) {
    if (!server.tools.length) return quiet("None of its tools.");
    const item = ({ name, tool, tier }) =>
      h(
        "li",
        { key: name },
        h(
          "span",
          { class: "row" },
          h("span", null, visible(tool)),
          tag(tier),
          button("Why", () => explain(name), { "aria-label": `Why ${name}`, class: "quiet" }),
        ),
      );
    const words = `${server.tools.length} of ${count(server.tools.length + server.hidden, "tool")}`;
    return fold(words, h("ul", { class: "plain" }, server.tools.map(item)));
  }

  function servers() {
    if (!sight.servers.length) return quiet("None.");
    const row = (server) =>
      h(
        "tr",
        { key: server.server },
        h("th", { scope: "row" }, link(serverPath(server.server), visible(server.server))),
        h("td", { "data-label": "Tools" }, tools(server)),
        h(
          "td",
          { "data-label": "Shown by" },
          visible(server.rules.join("; ")) || "–",
          server.missing.length ? under(`needs ${needs(server).join(" and ")}`) : null,
        ),
      );
    return h(
      "table",
      { class: "stack" },
      heads(["Server", "Tools", "Shown by"]),
      h("tbody", null, sight.servers.map(row)),
    );
  }

  function whole() {
    if (failure) return gone(failure, "/ui/access/members", "All members");
    if (!sight) return looking();
    return [
      sight.verdict === "let-in"
        ? null
        : h(
            "div",
            { key: "out", class: "empty" },
            h("p", { class: "title" }, visible(sight.text)),
            sight.hint ? h("p", null, visible(sight.hint)) : null,
          ),
      asking(),
      sheet("Admissions", admissions()),
      sheet("What they see", servers()),
    ];
  }

  onPicture(place, load);
  load();
  return () => [
    crumbs("/ui/access/members", "Members"),
    top(
      visible(sight?.member || key),
      sight?.verdict === "let-in" ? `Sees ${seen(sight.servers)}.` : null,
    ),
    h("div", { key: "whole", class: "parts" }, whole()),
  ];
}

function seen(servers) {
  const tools = servers.reduce((sum, server) => sum + server.tools.length, 0);
  return `${count(tools, "tool")} of ${count(servers.length, "server")}`;
}
