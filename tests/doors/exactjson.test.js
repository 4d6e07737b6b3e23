// JSON is read and written without a number becoming another.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  ExactNumber,
  readJson,
  writeJson,
} from "../../src/toolyard/doors/page/ui/lib/exactjson.js";

test("a number that JavaScript cannot hold stays as it is written", () => {
  for (const text of [
    "9007199254740993",
    "-12345678901234567890",
    "0.10000000000000000555",
    "1e400",
    "1e-400",
    "123456789012345678e2",
  ]) {
    const { a: value } = readJson(`{"a": ${text}}`);
    assert.ok(value instanceof ExactNumber, text);
    assert.equal(String(value), text);
    assert.equal(writeJson({ a: [value] }), `{"a":[${text}]}`);
  }
});

test("any other number is a number", () => {
  for (const text of [
    "0",
    "-0",
    "0.0",
    "1.50",
    "1e3",
    "9007199254740992",
    "1e-07",
    "0.30000000000000004",
  ])
    assert.equal(readJson(text), Number(text), text);
});

test("texts and names are no numbers, whatever they say", () => {
  const text = '{"12345678901234567890":"12345678901234567890","a":"\\\\\\"12345678901234567890"}';

  assert.deepEqual(readJson(text), JSON.parse(text));
  assert.equal(writeJson(readJson(text)), text);
});

test("what is no JSON is refused", () => {
  for (const text of ["{12345678901234567890: 1}", "012345678901234567890", "1 2", "", "[1"])
    assert.throws(() => readJson(text), SyntaxError, text);
});

test("nothing is written for nothing", () => {
  assert.equal(writeJson(undefined), undefined);
});
