// An import from clients: its words and its progress.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  hasSettled,
  originsOf,
  progressOf,
  restrictionsOf,
  shortPath,
} from "../../src/toolyard/doors/page/ui/lib/importing.js";

test("what several clients restrict in the same way is said once", () => {
  const clients = [
    { title: "Codex", hides: ["git/*", "!git/log", "!git/show", "other"] },
    { title: "Cursor", hides: ["git/*", "!git/log", "!git/show"] },
    { title: "Gemini", hides: ["git/push", "gitea/*"] },
    { title: "Zed", hides: [] },
  ];
  assert.deepEqual(restrictionsOf("git", clients), [
    "Codex, Cursor: only log, show",
    "Gemini: without push",
  ]);
  assert.deepEqual(restrictionsOf("other", clients), ["Codex: hidden"]);
  assert.deepEqual(restrictionsOf("gitea", clients), ["Gemini: hidden"]);
  assert.deepEqual(restrictionsOf("free", clients), []);
  assert.deepEqual(restrictionsOf("git", clients.slice(0, 2)), ["All clients: only log, show"]);
});

test("a server of two entries of one client is from that client once", () => {
  const sources = [
    { client: "codex", project: "" },
    { client: "codex", project: "/work" },
    { client: "unlisted", project: "/work" },
  ];
  const clients = [{ client: "codex", title: "Codex" }];
  assert.deepEqual(originsOf({ sources }, clients), {
    clients: ["Codex", "unlisted"],
    projects: ["/work"],
  });
});

test("package names stay whole, and long paths do not", () => {
  const words = ["/bin/sh", "@modelcontextprotocol/server-everything", "/srv/a/long/path/to/data/"];
  assert.deepEqual(words.map(shortPath), [words[0], words[1], ".../data"]);
});

test("a server has settled when it is ready or can say why it is not", () => {
  const row = (state, more = {}) => ({ state, tools: 0, problem: null, ...more });
  assert.equal(hasSettled(undefined), false);
  assert.equal(hasSettled(row("installing")), false);
  assert.equal(hasSettled(row("known")), false);
  assert.equal(hasSettled(row("known", { problem: { text: "gone" } })), true);
  const rows = [
    row("ready"),
    row("failing", { tools: 3, problem: {} }),
    row("starting"),
    undefined,
  ];
  assert.deepEqual(progressOf(rows), { usable: 1, starting: 2 });
});
