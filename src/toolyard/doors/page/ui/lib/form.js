// A form made from a JSON Schema. What it cannot show as fields, it takes as JSON.

import { h } from "./dom.js";
import { quiet } from "./bits.js";
import { readJson, writeJson } from "./exactjson.js";
import { button } from "./parts.js";
import { short, visible } from "./words.js";
import {
  MAX_DEPTH,
  MAX_FIELDS,
  blankItem,
  initialValue,
  isRequired,
  isSame,
  matchingVariant,
  missingPaths,
  resolve,
  typeOf,
  valueAt,
  variantsOf,
  withValueAt,
} from "./schema.js";

/**
 * @typedef {import("./schema.js").Schema} Schema
 * @typedef {import("./schema.js").Path} Path
 * @typedef {import("./dom.js").VNode} VNode
 *
 * @typedef {object} Typed text as it was typed, and the value it stands for
 * @property {string} text
 * @property {any} [value]
 * @property {boolean} isWrong
 *
 * @typedef {object} Form
 * @property {string} id the beginning of the ids of its fields
 * @property {Schema} root
 * @property {() => void} redraw
 * @property {any} value
 * @property {Map<string, Typed>} texts what was typed, by field
 * @property {Map<string, number>} choices which variant was chosen, by field
 * @property {Map<string, boolean>} isLong which fields of text have several lines
 * @property {() => VNode} draw
 * @property {(value: any) => void} set
 * @property {() => Path[]} missing
 * @property {() => boolean} broken
 *
 * @typedef {object} Field one place of a form
 * @property {Form} form
 * @property {Schema} schema
 * @property {Path} path
 * @property {boolean} isNeeded
 * @property {number} depth
 * @property {string} id
 * @property {any[]} title
 * @property {VNode | null} help
 * @property {Record<string, any>} attrs of its input
 */

/** @param {any} schema @param {() => void} redraw @param {string} [id] @returns {Form} */
export function makeForm(schema, redraw, id = "f") {
  const root = schema && typeof schema === "object" ? schema : {};
  /** @type {Form} */
  const form = {
    id,
    root,
    redraw,
    value: initialValue(root, root, 0) ?? {},
    texts: new Map(),
    choices: new Map(),
    isLong: new Map(),
    draw: () => h("div", { class: "fields" }, members(form, resolve(root, root), [], 0)),
    set(value) {
      form.value = value;
      form.texts.clear();
      form.choices.clear();
      form.isLong.clear();
      redraw();
    },
    missing: () => missingPaths(root, root, form.value),
    broken: () => [...form.texts.values()].some((typed) => typed.isWrong),
  };
  return form;
}

/** @param {Form} form @param {Path} path */
const fieldId = (form, path) => `${form.id}.${path.join(".")}`;

/** @param {Field} field */
const valueOf = ({ form, path }) => valueAt(form.value, path);

/** @param {Field} field @param {any} value */
function setValue({ form, path }, value) {
  form.value = withValueAt(form.value, path, value);
  form.redraw();
}

/** @param {Form} form @param {Schema} schema @param {Path} path @param {number} depth */
function members(form, schema, path, depth) {
  const properties = Object.entries(schema.properties || {});
  if (!properties.length) return anyObject(form, schema, path, depth);
  const shown = properties.slice(0, MAX_FIELDS).map(([name, member]) => {
    return drawField(form, member, [...path, name], isRequired(schema, name), depth);
  });
  const rest = properties.length - shown.length;
  if (rest > 0) shown.push(quiet(`${rest} more fields: write them as JSON.`));
  return shown;
}

/** @param {Form} form @param {Schema} schema @param {Path} path @param {number} depth */
function anyObject(form, schema, path, depth) {
  if (!path.length) return [quiet("It takes no arguments, or any: write JSON beside.")];
  const field = makeField(form, schema, path, false, depth);
  field.attrs = { id: field.id };
  return [quiet("It takes any JSON object."), jsonInput(field)];
}

/**
 * @param {Form} form
 * @param {any} schema
 * @param {Path} path
 * @param {boolean} isNeeded
 * @param {number} depth
 * @param {any} [name]
 * @returns {Field}
 */
function makeField(form, schema, path, isNeeded, depth, name = path[path.length - 1]) {
  const resolved = resolve(form.root, schema);
  const id = fieldId(form, path);
  const star = isNeeded ? h("span", { class: "need", title: "required" }, " *") : null;
  const { description } = resolved;
  const helpId = `${id}-help`;
  return {
    form,
    schema: resolved,
    path,
    isNeeded,
    depth,
    id,
    title: [short(resolved.title || name, 80), star],
    help: description ? h("p", { class: "help", id: helpId }, short(description, 400)) : null,
    attrs: {
      id,
      "aria-describedby": description ? helpId : undefined,
      "aria-required": isNeeded ? "true" : undefined,
    },
  };
}

/**
 * @param {Form} form
 * @param {any} schema
 * @param {Path} path
 * @param {boolean} isNeeded
 * @param {number} depth
 * @param {string} [name]
 */
function drawField(form, schema, path, isNeeded, depth, name) {
  const field = makeField(form, schema, path, isNeeded, depth, name);
  const { items, properties } = field.schema;
  const type = typeOf(field.schema);
  if (depth < MAX_DEPTH) {
    const variants = variantsOf(field.schema);
    if (variants) return drawVariants(field, variants);
    if (type === "object" && properties) {
      return group(field, members(form, field.schema, path, depth + 1));
    }
    if (type === "array" && items && !Array.isArray(items)) return drawItems(field);
  }
  if (type === "boolean") return checkbox(field);
  return h(
    "div",
    { class: "field", key: field.id },
    h("label", { for: field.id }, field.title),
    field.help,
    input(field, type),
  );
}

/** @param {Field} field @param {...any} kids */
function group({ id, title, help }, ...kids) {
  return h("fieldset", { key: id }, h("legend", null, title), help, ...kids);
}

/** @param {Field} field */
function checkbox(field) {
  const { id, title, help, attrs } = field;
  const change = (event) => setValue(field, event.target.checked);
  const checked = valueOf(field) === true;
  const box = h("input", { ...attrs, type: "checkbox", checked, on: { change } });
  const label = h("label", { class: "check", for: id }, box, h("strong", null, title));
  return h("div", { class: "field", key: id }, label, help);
}

/** @param {Field} field @param {string} type */
function input(field, type) {
  const { schema, attrs } = field;
  if (schema.const !== undefined) {
    const value = visible(JSON.stringify(schema.const));
    return h("input", { ...attrs, type: "text", value, disabled: true });
  }
  if (Array.isArray(schema.enum)) return select(field);
  if (type === "integer" || type === "number") return numberInput(field, type);
  if (type === "null") return quiet("nothing");
  return type === "string" ? textInput(field) : jsonInput(field);
}

/** @param {Field} field */
function textInput(field) {
  const { form, schema, id, isNeeded, attrs } = field;
  const value = valueOf(field);
  const text = typeof value === "string" ? value : "";
  const put = ({ target }) => {
    setValue(field, target.value === "" && !isNeeded ? undefined : target.value);
  };
  const placeholder = schema.examples?.length ? short(schema.examples[0], 60) : undefined;
  const common = { ...attrs, value: text, placeholder, on: { input: put } };
  // Decided once: a field that changed its kind while one types would lose the focus.
  if (!form.isLong.has(id)) {
    form.isLong.set(id, schema.maxLength > 200 || text.length > 80 || text.includes("\n"));
  }
  if (form.isLong.get(id)) return h("textarea", common);
  const type = /password|secret/i.test(schema.format || "") ? "password" : "text";
  return h("input", { ...common, type, autocomplete: "off" });
}

/** @param {Field} field */
function select(field) {
  const { schema, attrs } = field;
  const values = schema.enum;
  const chosen = values.findIndex((value) => isSame(value, valueOf(field)));
  const change = (event) => setValue(field, values[Number(event.target.value)]);
  const words = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  return h(
    "select",
    { ...attrs, value: String(chosen), on: { change } },
    h("option", { value: "-1", selected: chosen < 0 }, "not given"),
    values.map((value, at) => {
      const label = schema.enumNames?.[at] ?? words(value);
      return h("option", { value: String(at), selected: at === chosen }, short(label, 120));
    }),
  );
}

/** @param {Field} field @param {string} type */
function numberInput(field, type) {
  const { form, schema, id, attrs } = field;
  const typed = form.texts.get(id);
  const put = (event) => {
    const text = event.target.value.trim();
    const value = text === "" ? undefined : Number(text);
    const isRight = type === "integer" ? Number.isSafeInteger : Number.isFinite;
    const isWrong = value !== undefined && !isRight(value);
    form.texts.set(id, { text, value, isWrong });
    if (isWrong) form.redraw();
    else setValue(field, value);
  };
  return h("input", {
    ...attrs,
    type: "text",
    inputmode: "decimal",
    autocomplete: "off",
    placeholder: boundsOf(schema) || type,
    value: shownText(typed, valueOf(field), String),
    "aria-invalid": typed?.isWrong ? "true" : undefined,
    on: { input: put },
  });
}

/** @param {Schema} schema */
function boundsOf({ minimum, maximum }) {
  const bounds = [];
  if (minimum !== undefined) bounds.push(`at least ${minimum}`);
  if (maximum !== undefined) bounds.push(`at most ${maximum}`);
  return bounds.join(", ");
}

/** @param {Field} field */
function jsonInput(field) {
  const { form, id, attrs } = field;
  const typed = form.texts.get(id);
  const put = (event) => {
    const text = event.target.value;
    try {
      const value = text.trim() === "" ? undefined : readJson(text);
      form.texts.set(id, { text, value, isWrong: false });
      setValue(field, value);
    } catch {
      form.texts.set(id, { text, isWrong: true });
      form.redraw();
    }
  };
  return h("textarea", {
    ...attrs,
    placeholder: "JSON",
    value: shownText(typed, valueOf(field), (value) => writeJson(value, 2)),
    "aria-invalid": typed?.isWrong ? "true" : undefined,
    on: { input: put },
  });
}

/**
 * What was typed, as long as it stands for the value; otherwise the value.
 * @param {Typed | undefined} typed
 * @param {any} value
 * @param {(value: any) => string} print
 */
function shownText(typed, value, print) {
  if (typed && (typed.isWrong || isSame(typed.value, value))) return typed.text;
  return value === undefined ? "" : print(value);
}

/** @param {Field} field */
function drawItems(field) {
  const { form, schema, path, depth } = field;
  const value = valueOf(field);
  const list = Array.isArray(value) ? value : [];
  const add = () => setValue(field, [...list, blankItem(form.root, schema.items, depth)]);
  const remove = (position) => {
    form.texts.clear();
    setValue(
      field,
      list.filter((_, at) => at !== position),
    );
  };
  const item = (position) => {
    const name = String(position + 1);
    return h(
      "div",
      { class: "item", key: String(position) },
      drawField(form, schema.items, [...path, position], true, depth + 1, name),
      button("Remove", () => remove(position), { "aria-label": `Remove ${name}` }),
    );
  };
  return group(
    field,
    list.slice(0, MAX_FIELDS).map((_, position) => item(position)),
    button("Add", add, { "aria-label": `Add to ${short(path.join("."), 60)}` }),
  );
}

/** @param {Field} field @param {Schema[]} variants */
function drawVariants(field, variants) {
  const { form, path, id, isNeeded, depth } = field;
  const chosen = form.choices.get(id) ?? matchingVariant(form.root, variants, valueOf(field));
  const names = variants.map((variant, at) => variantName(resolve(form.root, variant), at));
  const change = (event) => {
    const at = Number(event.target.value);
    form.choices.set(id, at);
    form.texts.clear();
    setValue(field, at < 0 ? undefined : initialVariant(form, variants[at], depth));
  };
  const label = `Form of ${short(path[path.length - 1], 60)}`;
  const picked = chosen >= 0 ? resolve(form.root, variants[chosen]) : null;
  const hasFields = picked && typeOf(picked) !== "null" && picked.const === undefined;
  const inner = { ...picked, title: names[chosen] };
  return group(
    field,
    h(
      "select",
      { id: `${id}-form`, "aria-label": label, value: String(chosen), on: { change } },
      isNeeded ? null : h("option", { value: "-1", selected: chosen < 0 }, "not given"),
      names.map((name, at) => h("option", { value: String(at), selected: at === chosen }, name)),
    ),
    hasFields ? drawField(form, inner, path, isNeeded, depth + 1, "") : null,
  );
}

/** @param {Schema} variant @param {number} position */
function variantName(variant, position) {
  const constant = variant.const === undefined ? "" : JSON.stringify(variant.const);
  return short(variant.title || constant || typeOf(variant) || `form ${position + 1}`, 60);
}

/** @param {Form} form @param {Schema} variant @param {number} depth */
function initialVariant(form, variant, depth) {
  const isNull = typeOf(resolve(form.root, variant)) === "null";
  return isNull ? null : initialValue(form.root, variant, depth);
}
