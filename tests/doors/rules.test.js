// Rules and limits in the words of the command line: what a form makes of them, and back.

import assert from "node:assert/strict";
import { test } from "node:test";

import { writeJson } from "../../src/toolyard/doors/page/ui/lib/exactjson.js";
import * as limits from "../../src/toolyard/doors/page/ui/lib/limits.js";
import * as rules from "../../src/toolyard/doors/page/ui/lib/rules.js";

const RULE = {
  name: "pushes",
  says: "ask",
  tools: ["git/push", "!git/log"],
  tier: "write",
  arguments: [
    { path: "path", glob: "/etc/*" },
    { path: "to.name", equals: "a=b" },
  ],
  members: ["*@example.com"],
  agents: ["codex"],
  reason: "History is shared.",
  wait: 90,
};
const LIMIT = {
  name: "fair",
  member: "https://issuer#ann",
  member_label: "ann@example.com",
  token: "",
  agent: "",
  server: "*",
  tool: "",
  calls: 600,
  bytes: 50_000_000,
  seconds: 3600,
  concurrent: 4,
  instances: 0,
};

test("a rule comes out of its form as it went in", () => {
  const { name, ...body } = RULE;
  const draft = rules.draftOf(RULE);

  assert.equal(draft.arguments, 'path=/etc/*\nto.name:="a=b"');
  assert.equal(draft.name, name);
  assert.deepEqual(rules.bodyOf(draft), body);
});

test("a new rule asks about every call, for the usual time", () => {
  const body = rules.bodyOf({ ...rules.NEW_RULE, wait: "" });

  assert.deepEqual([body.says, body.tools, body.tier, body.wait], ["ask", [], null, 600]);
});

test("a test of an argument compares with a pattern, or with a value", () => {
  assert.deepEqual(rules.readTests("path=/a=b\n\nforce:=true\nn:=[1]"), [
    { path: "path", glob: "/a=b" },
    { path: "force", equals: true },
    { path: "n", equals: [1] },
  ]);
});

test("a value that JavaScript would round is compared as it is written", () => {
  const [test] = rules.readTests("id:=[12345678901234567890, 1e400]");

  assert.equal(rules.spelled(test), "id:=[12345678901234567890,1e400]");
  assert.equal(
    writeJson(test, 1),
    '{\n "path": "id",\n "equals": [\n  12345678901234567890,\n  1e400\n ]\n}',
  );
});

test("a test that cannot be read is named", () => {
  assert.throws(() => rules.readTests("force"), /“force” is not PATH=GLOB or PATH:=JSON/);
  assert.throws(() => rules.readTests("=x"), /PATH=GLOB/);
  assert.throws(() => rules.readTests(":=1"), /PATH=GLOB/);
  assert.throws(() => rules.readTests("a:=yes"), /“yes” is not JSON/);
});

test("the conditions of a rule are told as on the command line", () => {
  assert.deepEqual(rules.conditionsOf(RULE), [
    "tier write or above",
    "path=/etc/*",
    'to.name:="a=b"',
    "member *@example.com",
    "agent codex",
  ]);
});

test("times and sizes are read as on the command line", () => {
  assert.deepEqual(["90", "1.5h", "15 m", "2d"].map(limits.readSpan), [90, 5400, 900, 172800]);
  assert.deepEqual(
    ["", "5000", "64kB", "10MB", "1g"].map(limits.readSize),
    [0, 5e3, 64e3, 1e7, 1e9],
  );
  assert.throws(() => limits.readSpan("soon"), /“soon” is not a time/);
  assert.throws(() => limits.readSize("1.5MB"), /“1.5MB” is not a size/);
});

test("times and sizes are written so that they are read as the same", () => {
  for (const seconds of [1, 60, 90, 3600, 5400, 86400, 0.5])
    assert.equal(limits.readSpan(limits.writeSpan(seconds)), seconds);
  for (const bytes of [0, 1, 1000, 1500, 64_000, 50_000_000, 3_000_000_000])
    assert.equal(limits.readSize(limits.writeSize(bytes)), bytes);
});

test("a limit comes out of its form as it went in, with its member by name", () => {
  const { member_label: member, ...rest } = LIMIT;

  assert.deepEqual(limits.bodyOf(limits.draftOf(LIMIT)), { ...rest, member });
});

test("a limit and its use are told in words", () => {
  assert.equal(limits.aboutOf(LIMIT), "member ann@example.com, each server");
  assert.equal(limits.aboutOf({}), "all calls");
  assert.deepEqual(limits.allowsOf(LIMIT), [
    "600 calls per 1h",
    "50 MB per 1h",
    "4 calls at a time",
  ]);
  const use = { figure: "concurrent", used: 1, allowed: 4 };
  assert.equal(limits.useOf(use), "1 of 4 calls under way");
});
