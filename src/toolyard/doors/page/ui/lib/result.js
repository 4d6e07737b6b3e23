// What a tool answered: text, JSON, pictures, sound, links. Never anything but shown.

import { h, isSafe } from "./dom.js";
import { away, quiet, small, under } from "./bits.js";
import { readJson, writeJson } from "./exactjson.js";
import { code, fold, tree } from "./parts.js";
import { bytes, short, visible } from "./words.js";

const LONGEST = 100000;

export function result(answer) {
  const content = Array.isArray(answer.content) ? answer.content : [];
  const structure = answer.structuredContent;
  return h(
    "div",
    { class: "result" },
    answer.isError ? h("p", { class: "bad title" }, "The tool says that it failed.") : null,
    content.map((item) => block(item)),
    structure === undefined || isRepeated(structure, content)
      ? null
      : [h("h3", null, "Structured"), tree(structure)],
    content.length || structure !== undefined ? null : quiet("It answered with nothing."),
    fold("The whole answer", code(cut(writeJson(answer, 2)))),
  );
}

// Tools repeat a structure as text, for clients that know no structures.
function isRepeated(structure, content) {
  const whole = writeJson(structure);
  return content.some(({ text: words }) => {
    try {
      return writeJson(readJson(words)) === whole;
    } catch {
      return false;
    }
  });
}

function cut(words) {
  return words.length > LONGEST
    ? `${words.slice(0, LONGEST)}\n… and ${bytes(words.length - LONGEST)} more`
    : words;
}

function block(content) {
  if (content.type === "text") return text(String(content.text ?? ""));
  if (content.type === "image") return media("img", content);
  if (content.type === "audio") return media("audio", content);
  if (content.type === "resource_link") return address(content);
  if (content.type === "resource" && content.resource) return embedded(content.resource);
  return tree(content);
}

function text(words) {
  if (/^\s*[[{]/.test(words) && words.length < LONGEST) {
    try {
      const value = readJson(words);
      return [tree(value), fold("As text", code(words))];
    } catch {
      /* it only looks like JSON */
    }
  }
  return code(cut(words));
}

function media(tag, content) {
  const source = `data:${content.mimeType};base64,${content.data}`;
  if (!isSafe(source))
    return quiet(
      `${visible(content.type)} of a kind that is not shown: ${short(content.mimeType, 60)}`,
    );
  if (tag === "img") return h("img", { src: source, alt: `picture, ${content.mimeType}` });
  return h("audio", { src: source, controls: true, "aria-label": "sound" });
}

function address(resource) {
  const uri = String(resource.uri ?? "");
  const isWeb = /^https?:\/\//i.test(uri);
  return h(
    "p",
    null,
    h("strong", null, short(resource.title || resource.name || uri, 120)),
    " ",
    isWeb ? away(uri, short(uri)) : h("code", null, short(uri)),
    resource.description ? under(short(resource.description, 300)) : null,
  );
}

function embedded(resource) {
  const size = (String(resource.blob || "").length * 3) / 4; // of what base64 stands for
  return h(
    "div",
    null,
    h(
      "p",
      null,
      h("code", null, short(resource.uri)),
      " ",
      small(short(resource.mimeType || "", 60)),
    ),
    resource.text !== undefined
      ? text(String(resource.text))
      : quiet(`${bytes(size)} that are no text`),
  );
}
