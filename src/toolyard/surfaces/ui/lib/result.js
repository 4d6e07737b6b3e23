// What a tool answered: text, JSON, pictures, sound, links. Never anything but shown.

import { h, isSafe } from "./dom.js";
import { quiet, small, under } from "./bits.js";
import { code, fold, tree } from "./parts.js";
import { bytes, short, visible } from "./words.js";

const LONGEST = 100000;

export function result(answer) {
  const content = Array.isArray(answer.content) ? answer.content : [];
  return h("div", { class: "result" },
    answer.isError ? h("p", { class: "bad title" }, "The tool says that it failed.") : null,
    content.map((each) => block(each)),
    answer.structuredContent !== undefined ? [h("h3", null, "Structured"), tree(answer.structuredContent)] : null,
    content.length || answer.structuredContent !== undefined ? null : quiet("It answered with nothing."),
    fold("The whole answer", code(cut(JSON.stringify(answer, null, 2)))));
}

function cut(words) {
  return words.length > LONGEST ? `${words.slice(0, LONGEST)}\n… and ${bytes(words.length - LONGEST)} more` : words;
}

function block(each) {
  if (each.type === "text") return text(String(each.text ?? ""));
  if (each.type === "image") return media("img", each);
  if (each.type === "audio") return media("audio", each);
  if (each.type === "resource_link") return address(each);
  if (each.type === "resource" && each.resource) return resource(each.resource);
  return tree(each);
}

function text(words) {
  if (/^\s*[[{]/.test(words) && words.length < LONGEST) {
    try {
      const value = JSON.parse(words);
      return [tree(value), fold("As text", code(words))];
    } catch { /* it only looks like JSON */ }
  }
  return code(cut(words));
}

function media(tag, each) {
  const source = `data:${each.mimeType};base64,${each.data}`;
  if (!isSafe(source)) return quiet(`${visible(each.type)} of a kind that is not shown: ${short(each.mimeType, 60)}`);
  if (tag === "img") return h("img", { src: source, alt: `picture, ${each.mimeType}` });
  return h("audio", { src: source, controls: true, "aria-label": "sound" });
}

function address(each) {
  const uri = String(each.uri ?? "");
  const isWeb = /^https?:\/\//i.test(uri);
  return h("p", null, h("strong", null, short(each.title || each.name || uri, 120)), " ",
    isWeb ? h("a", { href: uri, target: "_blank", rel: "noopener noreferrer" }, short(uri)) : h("code", null, short(uri)),
    each.description ? under(short(each.description, 300)) : null);
}

function resource(each) {
  return h("div", null, h("p", null, h("code", null, short(each.uri)), " ", small(short(each.mimeType || "", 60))),
    each.text !== undefined ? text(String(each.text)) : quiet(`${bytes((String(each.blob || "").length * 3) / 4)} that are no text`));
}
