// Adding a server: its command as one line.

import assert from "node:assert/strict";
import { test } from "node:test";

import { joinWords, splitWords } from "../../src/toolyard/doors/page/ui/lib/shellwords.js";

test("a line is parted as a shell parts it", () => {
  const line = `npx -y 'a b' "c \\"d\\n" e\\ f '' \${HOME}/x`;
  assert.deepEqual(splitWords(line), ["npx", "-y", "a b", 'c "d\\n', "e f", "", "${HOME}/x"]);
});

test("words survive the way to a line and back", () => {
  const words = ["npx", "a b", "it's", "", 'say "hi"', "back\\slash", "[secret]", "a\tb"];
  assert.deepEqual(splitWords(joinWords(words)), words);
});
