import { h } from "../lib/dom.js";
export const page = { path: "/ui/servers/:alias", title: () => "server", open: () => () => h("p", null, "soon") };
