import { h } from "../lib/dom.js";
export const page = { path: "/ui/servers/:alias/tools/:tool", title: () => "tool", open: () => () => h("p", null, "soon") };
