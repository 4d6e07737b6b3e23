// A form made from a JSON Schema. What it cannot show as fields, it takes as JSON.

import { h } from "./dom.js";
import { quiet } from "./bits.js";
import { button } from "./parts.js";
import { short, visible } from "./words.js";

const DEEPEST = 6;
const MOST = 150;

export function makeForm(schema, redraw, id = "f") {
  const root = schema && typeof schema === "object" ? schema : {};
  const form = {
    id, root, redraw,
    value: beginning(root, root, 0) ?? {},
    texts: new Map(), // what was typed where it is not yet a value
    choices: new Map(),
    kinds: new Map(),
    draw: () => h("div", { class: "fields" }, members(form, settled(form, root), [], 0)),
    set(value) { form.value = value; form.texts.clear(); form.choices.clear(); form.kinds.clear(); redraw(); },
    missing: () => lacking(form, root, form.value, [], 0),
    broken: () => [...form.texts.values()].some((text) => text.wrong),
  };
  return form;
}

// The schema with references and `allOf` followed, as far as that is safe.
function settled(form, schema, depth = 0) {
  if (schema === true || schema === undefined || schema === null || typeof schema !== "object") return {};
  let found = schema;
  if (typeof found.$ref === "string" && depth < 8) {
    let target = form.root;
    for (const part of found.$ref.replace(/^#\/?/, "").split("/").filter(Boolean)) {
      target = target?.[decodeURIComponent(part).replace(/~1/g, "/").replace(/~0/g, "~")];
    }
    const { $ref, ...rest } = found;
    found = { ...settled(form, target, depth + 1), ...rest };
  }
  if (Array.isArray(found.allOf) && depth < 8) {
    for (const each of found.allOf) {
      const part = settled(form, each, depth + 1);
      found = { ...part, ...found, properties: { ...part.properties, ...found.properties }, required: [...(part.required || []), ...(found.required || [])] };
    }
  }
  return found;
}

function variants(schema) {
  const several = schema.oneOf || schema.anyOf;
  if (Array.isArray(several) && several.length) return several;
  if (Array.isArray(schema.type) && schema.type.length > 1) return schema.type.map((type) => ({ ...schema, type }));
  return null;
}

function typeOf(schema) {
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type) return type;
  if (schema.properties) return "object";
  return schema.items ? "array" : "";
}

function beginning(root, schema, depth) {
  const found = settled({ root }, schema);
  if (found.default !== undefined) return structuredClone(found.default);
  if (found.const !== undefined) return found.const;
  if (typeOf(found) !== "object" || depth > DEEPEST) return undefined;
  const made = {};
  for (const [name, each] of Object.entries(found.properties || {}).slice(0, MOST)) {
    const part = settled({ root }, each);
    const isNeeded = (found.required || []).includes(name);
    const value = isNeeded || part.default !== undefined ? beginning(root, each, depth + 1) : undefined;
    if (value !== undefined) made[name] = value;
  }
  return made;
}

function lacking(form, schema, value, path, depth) {
  const found = settled(form, schema);
  if (typeOf(found) !== "object" || depth > DEEPEST) return [];
  const out = [];
  for (const [name, each] of Object.entries(found.properties || {})) {
    const has = value && typeof value === "object" && name in value;
    if (!has && (found.required || []).includes(name)) out.push([...path, name]);
    else if (has) out.push(...lacking(form, each, value[name], [...path, name], depth + 1));
  }
  return out;
}

function read(form, path) {
  return path.reduce((at, name) => (at === undefined || at === null ? undefined : at[name]), form.value);
}

function write(form, path, value) {
  form.value = placed(form.value, path, value);
  form.redraw();
}

function placed(at, [name, ...rest], value) {
  if (name === undefined) return value;
  if (Array.isArray(at)) {
    const list = [...at];
    list[name] = placed(list[name], rest, value);
    return list;
  }
  const base = at && typeof at === "object" ? { ...at } : {};
  const inner = placed(base[name], rest, value);
  if (inner === undefined) delete base[name];
  else Object.defineProperty(base, name, { value: inner, enumerable: true, configurable: true, writable: true });
  return base;
}

function members(form, schema, path, depth) {
  const entries = Object.entries(schema.properties || {});
  const shown = entries.slice(0, MOST).map(([name, each]) => field(form, each, [...path, name], (schema.required || []).includes(name), depth));
  if (!entries.length) return [quiet(path.length ? "It takes any JSON object." : "It takes no arguments, or any: write JSON beside."), path.length ? json(form, path, { id: key(form, path) }) : null];
  if (entries.length > MOST) shown.push(quiet(`${entries.length - MOST} more fields: write them as JSON.`));
  return shown;
}

const key = (form, path) => `${form.id}.${path.join(".")}`;

function field(form, schema, path, isNeeded, depth, name = path[path.length - 1]) {
  const found = settled(form, schema);
  const id = key(form, path);
  const title = [short(found.title || name, 80), isNeeded ? h("span", { class: "need", title: "required" }, " *") : null];
  const help = found.description ? h("p", { class: "help", id: `${id}-help` }, short(found.description, 400)) : null;
  const attrs = { id, "aria-describedby": help ? `${id}-help` : undefined, "aria-required": isNeeded ? "true" : undefined };
  const several = variants(found);
  if (several && depth < DEEPEST) return choice(form, found, several, path, isNeeded, depth, title, help);
  const type = typeOf(found);
  if (type === "object" && found.properties && depth < DEEPEST) {
    return h("fieldset", { key: id }, h("legend", null, title), help, members(form, found, path, depth + 1));
  }
  if (type === "array" && found.items && !Array.isArray(found.items) && depth < DEEPEST) return items(form, found, path, depth, title, help);
  if (type === "boolean") {
    const check = h("input", { ...attrs, type: "checkbox", checked: read(form, path) === true, on: { change: (event) => write(form, path, event.target.checked) } });
    return h("div", { class: "field", key: id }, h("label", { class: "check", for: id }, check, h("strong", null, title)), help);
  }
  return h("div", { class: "field", key: id }, h("label", { for: id }, title), help, input(form, found, type, path, attrs));
}

function input(form, schema, type, path, attrs) {
  if (schema.const !== undefined) return h("input", { ...attrs, type: "text", value: visible(JSON.stringify(schema.const)), disabled: true });
  if (Array.isArray(schema.enum)) return options(form, schema.enum, schema.enumNames, path, attrs);
  if (type === "integer" || type === "number") return number(form, schema, type, path, attrs);
  if (type === "null") return quiet("nothing");
  if (type !== "string") return json(form, path, attrs);
  const said = read(form, path);
  const put = (event) => write(form, path, event.target.value === "" && attrs["aria-required"] === undefined ? undefined : event.target.value);
  const common = { ...attrs, value: typeof said === "string" ? said : "", placeholder: schema.examples?.length ? short(schema.examples[0], 60) : undefined, on: { input: put } };
  // Decided once: a field that changed its kind while one types would lose the focus.
  if (!form.kinds.has(attrs.id)) form.kinds.set(attrs.id, (schema.maxLength || 0) > 200 || (typeof said === "string" && (said.length > 80 || said.includes("\n"))));
  if (form.kinds.get(attrs.id)) return h("textarea", common);
  return h("input", { ...common, type: /password|secret/i.test(schema.format || "") ? "password" : "text", autocomplete: "off" });
}

function options(form, values, names, path, attrs) {
  const at = values.findIndex((each) => JSON.stringify(each) === JSON.stringify(read(form, path)));
  return h("select", { ...attrs, value: String(at), on: { change: (event) => write(form, path, values[Number(event.target.value)]) } },
    h("option", { value: "-1", selected: at < 0 }, "not given"),
    values.map((each, number) => h("option", { value: String(number), selected: number === at }, short(names?.[number] ?? (typeof each === "string" ? each : JSON.stringify(each)), 120))));
}

function number(form, schema, type, path, attrs) {
  const id = attrs.id;
  const value = read(form, path);
  const typed = form.texts.get(id);
  const put = (event) => {
    const text = event.target.value.trim();
    const made = Number(text);
    const wrong = text !== "" && (!Number.isFinite(made) || (type === "integer" && !Number.isSafeInteger(made)));
    form.texts.set(id, { text, value: text === "" ? undefined : made, wrong });
    if (!wrong) write(form, path, text === "" ? undefined : made);
    else form.redraw();
  };
  const shown = typed && (typed.wrong || typed.value === value) ? typed.text : value === undefined ? "" : String(value);
  const bounds = [schema.minimum !== undefined ? `at least ${schema.minimum}` : "", schema.maximum !== undefined ? `at most ${schema.maximum}` : ""].filter(Boolean).join(", ");
  return h("input", { ...attrs, type: "text", inputmode: "decimal", autocomplete: "off", placeholder: bounds || type, value: shown, "aria-invalid": typed?.wrong ? "true" : undefined, on: { input: put } });
}

function json(form, path, attrs) {
  const id = attrs.id;
  const typed = form.texts.get(id);
  const value = read(form, path);
  const put = (event) => {
    const text = event.target.value;
    try {
      const made = text.trim() === "" ? undefined : JSON.parse(text);
      form.texts.set(id, { text, value: JSON.stringify(made), wrong: false });
      write(form, path, made);
    } catch {
      form.texts.set(id, { text, wrong: true });
      form.redraw();
    }
  };
  const shown = typed && (typed.wrong || typed.value === JSON.stringify(value)) ? typed.text : value === undefined ? "" : JSON.stringify(value, null, 2);
  return h("textarea", { ...attrs, placeholder: "JSON", value: shown, "aria-invalid": typed?.wrong ? "true" : undefined, "aria-label": attrs["aria-label"], on: { input: put } });
}

function items(form, schema, path, depth, title, help) {
  const list = Array.isArray(read(form, path)) ? read(form, path) : [];
  const id = key(form, path);
  const drop = (at) => { form.texts.clear(); write(form, path, list.filter((_, each) => each !== at)); };
  const blank = () => beginning(form.root, schema.items, depth) ?? { string: "", number: 0, integer: 0, boolean: false, array: [], object: {} }[typeOf(settled(form, schema.items))] ?? null;
  return h("fieldset", { key: id }, h("legend", null, title), help,
    list.slice(0, MOST).map((_, at) => h("div", { class: "item", key: String(at) }, field(form, schema.items, [...path, at], true, depth + 1, `${at + 1}`),
      button("Remove", () => drop(at), { "aria-label": `Remove ${at + 1}` }))),
    button("Add", () => write(form, path, [...list, blank()]), { "aria-label": `Add to ${short(path.join("."), 60)}` }));
}

function choice(form, schema, several, path, isNeeded, depth, title, help) {
  const id = key(form, path);
  const value = read(form, path);
  const chosen = form.choices.get(id) ?? guess(form, several, value);
  const names = several.map((each, at) => {
    const found = settled(form, each);
    return short(found.title || (found.const !== undefined ? JSON.stringify(found.const) : typeOf(found)) || `form ${at + 1}`, 60);
  });
  const change = (event) => {
    const at = Number(event.target.value);
    form.choices.set(id, at);
    form.texts.clear();
    const found = at < 0 ? undefined : settled(form, several[at]);
    write(form, path, at < 0 ? undefined : typeOf(found) === "null" ? null : beginning(form.root, several[at], depth));
  };
  const picked = chosen >= 0 ? settled(form, several[chosen]) : null;
  const inner = { ...picked, title: names[chosen], description: picked?.description };
  return h("fieldset", { key: id }, h("legend", null, title), help,
    h("select", { id: `${id}-form`, "aria-label": `Form of ${short(path[path.length - 1], 60)}`, value: String(chosen), on: { change } },
      isNeeded ? null : h("option", { value: "-1", selected: chosen < 0 }, "not given"),
      names.map((name, at) => h("option", { value: String(at), selected: at === chosen }, name))),
    picked && typeOf(picked) !== "null" && picked.const === undefined ? field(form, inner, path, isNeeded, depth + 1, "") : null);
}

// Which of several forms a value has: the first whose type and fixed members it shares.
function guess(form, several, value) {
  if (value === undefined) return -1;
  const is = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
  return several.findIndex((each) => {
    const found = settled(form, each);
    if (found.const !== undefined) return JSON.stringify(found.const) === JSON.stringify(value);
    const type = typeOf(found);
    if (type !== is && !(type === "integer" && is === "number")) return false;
    return is !== "object" || Object.entries(found.properties || {}).every(([name, part]) => settled(form, part).const === undefined || settled(form, part).const === value[name]);
  });
}
