// Every page, in the order in which paths are compared. To add one: write its module, name it here.
//
// `path` has `:names`, `nav` is its word in the head, and `open(place)` gives `draw()`, which gives what
// h() made and is asked again after every change of the state.

import { page as yard } from "./yard.js";
import { page as server } from "./server.js";
import { page as tool } from "./tool.js";
import { page as agents } from "./agents.js";
import { page as agent } from "./agent.js";
import { page as policies } from "./policies.js";
import { page as policy } from "./policy.js";
import { page as executors } from "./executors.js";
import { page as clients } from "./clients.js";
import { page as catalog } from "./catalog.js";
import { page as definition } from "./definition.js";
import { page as history } from "./history.js";
import { page as past } from "./past.js";
import { page as profiles } from "./profiles.js";
import { page as profile } from "./profile.js";
import { page as apps } from "./apps.js";
import { page as doctor } from "./doctor.js";

/**
 * @typedef {object} Place what a page gets when it is opened
 * @property {Record<string, string>} params
 * @property {() => void} redraw
 * @property {(end: () => void) => void} onLeave
 * @property {(path: string) => void} go
 *
 * @typedef {object} Page
 * @property {string} path
 * @property {(params: Record<string, string>) => string} title
 * @property {string} [nav]
 * @property {(place: Place) => () => import("../lib/dom.js").Kid} open
 */

/** @type {Page[]} */
export const pages = [
  yard,
  tool,
  server,
  agents,
  agent,
  policies,
  policy,
  executors,
  clients,
  catalog,
  definition,
  history,
  past,
  profiles,
  profile,
  apps,
  doctor,
];
