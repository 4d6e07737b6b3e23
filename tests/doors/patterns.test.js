// The lists of a profile: what they show, and what a tick does to them.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  isShown,
  isWhole,
  matches,
  withServer,
  withTool,
} from "../../src/toolyard/doors/page/ui/lib/patterns.js";

const SERVER = { names: ["git", "git@configured"], mark: "git__" };
const LOG = { ...SERVER, tool: "log" };
const PUSH = { ...SERVER, tool: "push" };
const GIT = { ...SERVER, tools: [LOG, PUSH] };
const OTHER = { names: ["other", "other@configured"], mark: "other__", tool: "log" };
const everything = (...hide) => ({ isOnly: false, allow: [], hide });
const only = (allow, hide = []) => ({ isOnly: true, allow, hide });
const shown = (lists) => [LOG, PUSH, OTHER].filter((tool) => isShown(lists, tool));

test("a pattern fits as in the hub", () => {
  for (const [pattern, text] of [
    ["git", "git"],
    ["g*t/*", "git/log/all"],
    ["*", ""],
    ["g?t", "git"],
    ["[a-h]it", "git"],
    ["[!a-f]it", "git"],
    ["[]]", "]"],
    ["[x", "[x"],
    ["a.b", "a.b"],
    ["*a*b", "xxaxxb"],
  ])
    assert.ok(matches(pattern, text), `${pattern} ${text}`);
  for (const [pattern, text] of [
    ["git", "gitea"],
    ["g?t", "gt"],
    ["[!g]it", "git"],
    ["a.b", "axb"],
    ["*a*b", "xxaxx"],
    ["Git", "git"],
  ])
    assert.ok(!matches(pattern, text), `${pattern} ${text}`);
});

test("a long pattern is no trap", () => {
  assert.ok(!matches("*a".repeat(60), `${"a".repeat(5000)}b`));
});

test("everything is shown except what is hidden, by any of its names", () => {
  assert.deepEqual(shown(everything()), [LOG, PUSH, OTHER]);
  for (const line of ["git/push", "git@configured/push", "git__push", "*/push", "g*push"])
    assert.deepEqual(shown(everything(line)), [LOG, OTHER], line);
  assert.deepEqual(shown(everything("git/*", "!git/log")), [LOG, OTHER]);
  assert.deepEqual(shown(everything("git", "!git/log")), [OTHER]); // hidden by its name, all of it
});

test("only what is named is shown", () => {
  assert.deepEqual(shown(only(["git/log"])), [LOG]);
  assert.deepEqual(shown(only(["git"], ["git/push"])), [LOG]);
  assert.deepEqual(shown(only([])), []);
});

test("a tool that is unticked is hidden, and ticked again it leaves no trace", () => {
  const hidden = withTool(everything(), PUSH, false);
  assert.deepEqual(hidden, everything("git/push"));
  assert.deepEqual(withTool(hidden, PUSH, true), everything());

  const chosen = withTool(only([]), PUSH, true);
  assert.deepEqual(chosen, only(["git/push"]));
  assert.deepEqual(withTool(chosen, PUSH, false), only([]));
  assert.deepEqual(withTool(only(["git"]), PUSH, false), only(["git"], ["git/push"]));
});

test("a tool of a hidden server is an exception", () => {
  const lists = withTool(everything("git"), LOG, true);
  assert.deepEqual(lists, everything("git/*", "!git/log"));
  assert.deepEqual(shown(lists), [LOG, OTHER]);
  assert.deepEqual(shown(withTool(lists, LOG, false)), [OTHER]);
  assert.deepEqual(shown(withTool(everything("*/log"), LOG, true)), [LOG, PUSH]);
});

test("a server is ticked as a whole, and what was said of its tools is forgotten", () => {
  assert.deepEqual(withServer(only(["git/log"], ["git__push"]), GIT, true), only(["git"]));
  assert.deepEqual(withServer(only(["git", "other"]), GIT, false), only(["other"]));
  assert.deepEqual(withServer(everything("git/log"), GIT, false), everything("git"));
  assert.deepEqual(withServer(everything("git"), GIT, true), everything());
  assert.deepEqual(withServer(everything("g*"), GIT, true), everything("g*", "!git"));
  assert.deepEqual(withServer(only(["*"]), GIT, false), only(["*"], ["git"]));
  assert.deepEqual(withServer(only(["*/log"]), GIT, false), only(["*/log"], ["git"]));
  assert.deepEqual(withServer(everything("*/log"), GIT, true), everything("*/log", "!git/log"));
});

test("a server is whole if the tools it gets later are shown too", () => {
  assert.ok(isWhole(everything("git/log"), GIT));
  assert.ok(isWhole(only(["git"]), GIT));
  assert.ok(!isWhole(only(["git/log", "git/push"]), GIT));
  assert.ok(!isWhole(everything("git"), GIT));
});
