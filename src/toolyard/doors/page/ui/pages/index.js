// Every page, below its entry in the navigation. To add one: write its module, name it here.
//
// `path` has `:names`, and `open(place)` gives `draw()`, which gives what h() made and is asked again
// after every change of the state. The first page of a section is where its entry leads; those with a
// `tab` are reached from each other.

import { page as servers } from "./servers.js";
import { page as add } from "./add.js";
import { page as paste } from "./paste.js";
import { page as setup } from "./setup.js";
import { page as edit } from "./edit.js";
import { page as server } from "./server.js";
import { page as tool } from "./tool.js";
import { page as tools } from "./tools.js";
import { page as agents } from "./agents.js";
import { page as agent } from "./agent.js";
import { page as policies } from "./policies.js";
import { page as policy } from "./policy.js";
import { page as executors } from "./executors.js";
import { page as clients } from "./clients.js";
import { page as catalog } from "./catalog.js";
import { page as definition } from "./definition.js";
import { page as activity } from "./activity.js";
import { page as calls } from "./calls.js";
import { page as call } from "./call.js";
import { page as profiles } from "./profiles.js";
import { page as profile } from "./profile.js";
import { page as apps } from "./apps.js";
import { page as tokens } from "./access.js";
import { page as secrets } from "./secrets.js";
import { page as logins } from "./logins.js";
import { page as doctor } from "./doctor.js";
import { page as settings } from "./settings.js";
import { page as quirks } from "./quirks.js";

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
 * @property {string} [tab] its word beside those of its section's other pages
 * @property {(place: Place) => () => import("../lib/dom.js").Kid} open
 *
 * @typedef {object} Section an entry of the navigation
 * @property {string} name
 * @property {string} icon a path within 20 by 20
 * @property {Page[]} pages
 */

/** @type {Section[]} */
export const sections = [
  {
    name: "Servers",
    icon: "M4 4h12v4.5H4zM4 11.5h12V16H4zM7 6.25h.01M7 13.75h.01",
    pages: [servers, apps, add, paste, catalog, setup, definition, server, edit, tool],
  },
  {
    name: "Tools",
    icon: "M12.8 3.2a4 4 0 0 0-4 5.6L3.4 14.2l2.4 2.4 5.4-5.4a4 4 0 0 0 5.4-5.2L14 8.6 11.4 6z",
    pages: [tools],
  },
  {
    name: "Clients",
    icon: "M3.5 4h13v9h-13zM7.5 16.5h5M10 13v3.5",
    pages: [clients],
  },
  {
    name: "Agents",
    icon: "M10 9.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM4 16.5c.6-3 3-4.5 6-4.5s5.4 1.5 6 4.5",
    pages: [agents, profiles, policies, executors, agent, profile, policy],
  },
  {
    name: "Activity",
    icon: "M2.5 10.5H6l2.5-6 3.5 11 2.5-5h3",
    pages: [activity, calls, call],
  },
  {
    name: "Access",
    icon: "M6.5 13.2a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4zM9.7 10H17M14.5 10v2.8",
    pages: [tokens, secrets, logins],
  },
  {
    name: "Settings",
    icon: "M3.5 6.5h7M14.5 6.5h2M12.5 4.5v4M3.5 13.5h2M9.5 13.5h7M7.5 11.5v4",
    pages: [settings, quirks, doctor],
  },
];

export const pages = sections.flatMap((section) => section.pages);

/** @param {Page | undefined} page @returns {Section | undefined} */
export const sectionOf = (page) => sections.find((section) => page && section.pages.includes(page));
