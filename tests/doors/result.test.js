// The result of a call is shown as it was answered.

import assert from "node:assert/strict";
import { test } from "node:test";

import { readJson } from "../../src/toolyard/doors/page/ui/lib/exactjson.js";
import { result } from "../../src/toolyard/doors/page/ui/lib/result.js";
import { events } from "../../src/toolyard/doors/page/ui/lib/store.js";

function words(node) {
  return typeof node === "string" ? node : node.kids.map(words).join("");
}

const count = (text, part) => text.split(part).length - 1;

test("a number that JavaScript cannot hold is shown as the tool wrote it", () => {
  const answer = readJson(
    '{"content":[{"type":"text","text":"{\\"id\\":9007199254740993}"}],' +
      '"structuredContent":{"other":9007199254740995}}',
  );

  const shown = words(result(answer));

  assert.match(shown, /id: 9007199254740993/);
  assert.match(shown, /other: 9007199254740995/);
  assert.match(shown, /"other": 9007199254740995/); // in the whole answer
  assert.equal(count(shown, "9007199254740992") + count(shown, "9007199254740996"), 0);
});

test("a structure that a text repeats is shown once, long numbers and all", () => {
  const answer = readJson(
    '{"content":[{"type":"text","text":"{\\"id\\":9007199254740993}"}],' +
      '"structuredContent":{"id":9007199254740993}}',
  );

  assert.equal(count(words(result(answer)), "Structured"), 0);
});

test("two long numbers that JavaScript takes for one are two", () => {
  const answer = readJson(
    '{"content":[{"type":"text","text":"{\\"id\\":9007199254740992}"}],' +
      '"structuredContent":{"id":9007199254740993}}',
  );

  assert.equal(count(words(result(answer)), "Structured"), 1);
});

test("a stream is read as its reader reads it", async () => {
  const body = new Response('event: result\ndata: {"id":9007199254740993}\n\n');
  const heard = [];

  await events(body, (kind, said) => heard.push([kind, String(said.id)]), readJson);

  assert.deepEqual(heard, [["result", "9007199254740993"]]);
});
