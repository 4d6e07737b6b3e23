// The form of a tool: what it starts with, what it lacks, and what typing into it does.

import assert from "node:assert/strict";
import { test } from "node:test";

import { readJson, writeJson } from "../../src/toolyard/doors/page/ui/lib/exactjson.js";
import { makeForm } from "../../src/toolyard/doors/page/ui/lib/form.js";

function opened(schema) {
  let drawn = 0;
  const form = makeForm(schema, () => (drawn += 1));
  return { form, drawn: () => drawn };
}

// Every node of a drawn form, outermost first.
function nodes(node) {
  return typeof node === "string" ? [] : [node, ...node.kids.flatMap(nodes)];
}

function byId(form, id) {
  return nodes(form.draw()).find((node) => node.attrs.id === id);
}

function words(node) {
  return typeof node === "string" ? node : node.kids.map(words).join("");
}

function type(form, id, value) {
  byId(form, id).attrs.on.input({ target: { value } });
}

function choose(form, id, value) {
  byId(form, id).attrs.on.change({ target: { value: String(value) } });
}

function press(form, label) {
  nodes(form.draw())
    .find((node) => node.attrs["aria-label"] === label)
    .attrs.on.click();
}

const object = (properties, required = []) => ({ type: "object", properties, required });
const text = { type: "string" };

test("a form starts with defaults, constants and required objects", () => {
  const { form } = opened(
    object(
      {
        size: { enum: ["small", "large"], default: "small" },
        kind: { const: "order" },
        guest: object({ table: { type: "integer", default: 7 } }),
        note: text,
      },
      ["kind", "guest"],
    ),
  );

  assert.deepEqual(form.value, { size: "small", kind: "order", guest: { table: 7 } });
});

test("a default is copied, so that editing leaves the schema alone", () => {
  const schema = object({ extras: { type: "array", items: text, default: ["salt"] } });
  const { form } = opened(schema);

  type(form, "f.extras.0", "pepper");

  assert.deepEqual(form.value.extras, ["pepper"]);
  assert.deepEqual(schema.properties.extras.default, ["salt"]);
});

test("required members that are not given are missing, also inside of others", () => {
  const { form } = opened(
    object({ dish: text, guest: object({ name: text }, ["name"]) }, ["dish", "guest"]),
  );

  assert.deepEqual(form.missing(), [["dish"], ["guest", "name"]]);
  type(form, "f.dish", "soup");
  type(form, "f.guest.name", "Ann");
  assert.deepEqual(form.missing(), []);
  assert.deepEqual(form.value, { dish: "soup", guest: { name: "Ann" } });
});

test("an empty text takes an optional member away and stays where one is required", () => {
  const { form } = opened(object({ note: text, dish: text }, ["dish"]));

  for (const id of ["f.note", "f.dish"]) {
    type(form, id, "x");
    type(form, id, "");
  }

  assert.deepEqual(form.value, { dish: "" });
});

test("references and allOf are followed to the fields they stand for", () => {
  const { form } = opened({
    $ref: "#/$defs/a~1b",
    $defs: {
      "a/b": { allOf: [object({ one: text }, ["one"]), { $ref: "#/$defs/more" }] },
      more: object({ two: { $ref: "#/$defs/word" } }, ["two"]),
      word: { type: "string", title: "A word" },
    },
  });

  assert.deepEqual(form.missing().sort(), [["one"], ["two"]]);
  assert.match(words(form.draw()), /A word/);
});

test("a schema that refers to itself is drawn to an end", () => {
  const { form } = opened({
    ...object({ child: { $ref: "#" }, name: text }, ["child"]),
  });

  assert.ok(nodes(form.draw()).length < 200);
  assert.ok(form.missing().length > 0);
});

test("what is not a number yet stays as it was typed, and breaks the form", () => {
  const { form, drawn } = opened(object({ table: { type: "integer", minimum: 1, maximum: 40 } }));

  type(form, "f.table", "4x");

  assert.equal(form.broken(), true);
  assert.deepEqual(form.value, {});
  assert.equal(byId(form, "f.table").attrs.value, "4x");
  assert.equal(byId(form, "f.table").attrs["aria-invalid"], "true");
  assert.equal(byId(form, "f.table").attrs.placeholder, "at least 1, at most 40");
  type(form, "f.table", "4");
  assert.equal(form.broken(), false);
  assert.deepEqual(form.value, { table: 4 });
  assert.equal(drawn(), 2);
});

test("an integer takes no fraction, a number does", () => {
  const { form } = opened(object({ whole: { type: "integer" }, part: { type: "number" } }));

  type(form, "f.whole", "1.5");
  type(form, "f.part", "1.50");

  assert.equal(form.broken(), true);
  assert.deepEqual(form.value, { part: 1.5 });
  assert.equal(byId(form, "f.part").attrs.value, "1.50");
});

test("what has no type is written as JSON, and kept as text until it can be read", () => {
  const { form } = opened(object({ any: {} }));

  type(form, "f.any", '{"a": [1');
  assert.equal(form.broken(), true);
  assert.deepEqual(form.value, {});
  type(form, "f.any", '{"a": [1]}');
  assert.deepEqual(form.value, { any: { a: [1] } });
  type(form, "f.any", " ");
  assert.deepEqual(form.value, {});
});

test("items are added with a value of their type, and removed one by one", () => {
  const { form } = opened(object({ extras: { type: "array", items: text } }));

  press(form, "Add to extras");
  press(form, "Add to extras");
  type(form, "f.extras.0", "salt");
  type(form, "f.extras.1", "pepper");
  press(form, "Remove 1");

  assert.deepEqual(form.value, { extras: ["pepper"] });
});

test("a choice among values of any kind gives the value itself", () => {
  const { form } = opened(object({ level: { enum: [1, "1", null], enumNames: ["one"] } }));

  choose(form, "f.level", 2);
  assert.deepEqual(form.value, { level: null });
  choose(form, "f.level", 0);
  assert.deepEqual(form.value, { level: 1 });
  assert.equal(words(byId(form, "f.level")), "not givenone1null");
  choose(form, "f.level", -1);
  assert.deepEqual(form.value, {});
});

test("a checkbox gives true and false", () => {
  const { form } = opened(object({ hurry: { type: "boolean" } }));

  byId(form, "f.hurry").attrs.on.change({ target: { checked: true } });
  assert.deepEqual(form.value, { hurry: true });
  byId(form, "f.hurry").attrs.on.change({ target: { checked: false } });
  assert.deepEqual(form.value, { hurry: false });
});

const PAY = {
  oneOf: [
    { title: "by card", ...object({ by: { const: "card" }, digits: text }, ["by", "digits"]) },
    { title: "in cash", ...object({ by: { const: "cash" } }, ["by"]) },
    { type: "null" },
  ],
};

test("choosing a variant begins its value, and its constants are filled in", () => {
  const { form } = opened(object({ pay: PAY }));

  choose(form, "f.pay-form", 1);
  assert.deepEqual(form.value, { pay: { by: "cash" } });
  choose(form, "f.pay-form", 2);
  assert.deepEqual(form.value, { pay: null });
  choose(form, "f.pay-form", -1);
  assert.deepEqual(form.value, {});
});

test("a value that is set shows the variant whose constants it shares", () => {
  const { form } = opened(object({ pay: PAY }));

  form.set({ pay: { by: "cash" } });
  assert.equal(byId(form, "f.pay-form").attrs.value, "1");
  form.set({ pay: { by: "card", digits: "42" } });
  assert.equal(byId(form, "f.pay-form").attrs.value, "0");
  assert.equal(byId(form, "f.pay.digits").attrs.value, "42");
});

test("several types in one schema are variants, too", () => {
  const { form } = opened(object({ id: { type: ["integer", "string"] } }));

  form.set({ id: 5 });
  assert.equal(byId(form, "f.id-form").attrs.value, "0");
  form.set({ id: "five" });
  assert.equal(byId(form, "f.id-form").attrs.value, "1");
});

test("a value that is set forgets what was typed wrong", () => {
  const { form } = opened(object({ table: { type: "integer" } }));
  type(form, "f.table", "x");

  form.set({ table: 3 });

  assert.equal(form.broken(), false);
  assert.equal(byId(form, "f.table").attrs.value, "3");
});

test("a long text is typed into several lines, a secret one is hidden", () => {
  const { form } = opened(
    object({ letter: text, word: text, key: { type: "string", format: "password" } }),
  );
  form.set({ letter: "Dear all,\n", word: "hi" });

  assert.equal(byId(form, "f.letter").tag, "textarea");
  assert.equal(byId(form, "f.word").attrs.type, "text");
  assert.equal(byId(form, "f.key").attrs.type, "password");
});

test("a member called __proto__ is a member like any other", () => {
  const { form } = opened(
    JSON.parse('{"type": "object", "properties": {"__proto__": {"type": "string"}}}'),
  );

  type(form, "f.__proto__", "x");

  assert.equal(JSON.stringify(form.value), '{"__proto__":"x"}');
  assert.equal({}.x, undefined);
});

test("more fields than a page can show are left to the JSON", () => {
  const many = Object.fromEntries(Array.from({ length: 152 }, (_, at) => [`field${at}`, text]));
  const { form } = opened(object(many));

  assert.match(words(form.draw()), /2 more fields: write them as JSON\./);
});

test("no schema at all is a form without fields", () => {
  for (const schema of [undefined, null, true, "object"]) {
    const { form } = opened(schema);
    assert.deepEqual(form.value, {});
    assert.match(words(form.draw()), /takes no arguments, or any/);
  }
});

test("a number that JavaScript cannot hold stays as it was written", () => {
  const pay = { anyOf: [text, { type: "integer", title: "cents" }] };
  const { form } = opened(object({ id: { type: "integer" }, any: {}, pay }));

  form.set(readJson('{"id":9007199254740993,"any":[9007199254740995],"pay":9007199254740997}'));

  assert.equal(byId(form, "f.id").attrs.value, "9007199254740993");
  assert.match(byId(form, "f.any").attrs.value, /\[\s*9007199254740995\s*\]/);
  assert.equal(byId(form, "f.pay").attrs.value, "9007199254740997");
  type(form, "f.any", '{"n":9007199254740999}');
  assert.equal(
    writeJson(form.value),
    '{"id":9007199254740993,"any":{"n":9007199254740999},"pay":9007199254740997}',
  );
});
