// Words in which `this` is code, as the texts of the API have it.

import { h } from "./dom.js";
import { visible } from "./words.js";

export const marked = (text) =>
  visible(text)
    .split("`")
    .map((part, at) => (at % 2 ? h("code", null, part) : part));
