// Every page, below its entry in the navigation. To add one: write its module, name it here.
//
// `path` has `:names`, which `title` may show. The code of a page is fetched when it is opened for the
// first time. Its `open(place)` gives `draw()`, which gives what h() made and is asked again after every
// change of the state. The first page of a section is where its entry leads; those with a `tab` are
// reached from each other.

/**
 * @typedef {object} Place what a page gets when it is opened
 * @property {Record<string, string>} params
 * @property {() => void} redraw
 * @property {(end: () => void) => void} onLeave
 * @property {(isDirty: () => boolean) => void} askIf leaving is asked about while this is true
 * @property {(path: string) => Promise<void>} go
 *
 * @typedef {(place: Place) => () => import("../lib/dom.js").Kid} Open
 *
 * @typedef {object} Page
 * @property {string} path
 * @property {string} title
 * @property {string} [tab] its word beside those of its section's other pages
 * @property {() => Promise<{open: Open}>} load
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
    pages: [
      { path: "/ui", title: "Servers", tab: "Servers", load: () => import("./servers.js") },
      { path: "/ui/apps", title: "Apps", tab: "Apps", load: () => import("./apps.js") },
      { path: "/ui/add", title: "Add a server", load: () => import("./add.js") },
      { path: "/ui/add/json", title: "Add servers", load: () => import("./paste.js") },
      { path: "/ui/catalog", title: "Catalog", load: () => import("./catalog.js") },
      { path: "/ui/setup", title: "Import from clients", load: () => import("./setup.js") },
      { path: "/ui/catalog/:name", title: ":name", load: () => import("./definition.js") },
      { path: "/ui/servers/:alias", title: ":alias", load: () => import("./server.js") },
      { path: "/ui/servers/:alias/edit", title: "Edit :alias", load: () => import("./edit.js") },
      { path: "/ui/servers/:alias/tools/:tool", title: ":tool", load: () => import("./tool.js") },
    ],
  },
  {
    name: "Tools",
    icon: "M12.8 3.2a4 4 0 0 0-4 5.6L3.4 14.2l2.4 2.4 5.4-5.4a4 4 0 0 0 5.4-5.2L14 8.6 11.4 6z",
    pages: [{ path: "/ui/tools", title: "Tools", load: () => import("./tools.js") }],
  },
  {
    name: "Clients",
    icon: "M3.5 4h13v9h-13zM7.5 16.5h5M10 13v3.5",
    pages: [{ path: "/ui/clients", title: "Clients", load: () => import("./clients.js") }],
  },
  {
    name: "Agents",
    icon: "M10 9.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM4 16.5c.6-3 3-4.5 6-4.5s5.4 1.5 6 4.5",
    pages: [
      { path: "/ui/agents", title: "Agents", tab: "Agents", load: () => import("./agents.js") },
      {
        path: "/ui/profiles",
        title: "Profiles",
        tab: "Profiles",
        load: () => import("./profiles.js"),
      },
      {
        path: "/ui/policies",
        title: "Policies",
        tab: "Policies",
        load: () => import("./policies.js"),
      },
      {
        path: "/ui/executors",
        title: "Executors",
        tab: "Executors",
        load: () => import("./executors.js"),
      },
      { path: "/ui/agents/:id", title: ":id", load: () => import("./agent.js") },
      { path: "/ui/profiles/:name", title: "Profile :name", load: () => import("./profile.js") },
      {
        path: "/ui/policies/:executor",
        title: "Policy of :executor",
        load: () => import("./policy.js"),
      },
    ],
  },
  {
    name: "Activity",
    icon: "M2.5 10.5H6l2.5-6 3.5 11 2.5-5h3",
    pages: [
      {
        path: "/ui/activity",
        title: "Activity",
        tab: "Overview",
        load: () => import("./activity.js"),
      },
      {
        path: "/ui/activity/calls",
        title: "Calls",
        tab: "Calls",
        load: () => import("./calls.js"),
      },
      {
        path: "/ui/activity/waiting",
        title: "Waiting calls",
        tab: "Waiting",
        load: () => import("./waiting.js"),
      },
      { path: "/ui/activity/calls/:id", title: "Call :id", load: () => import("./call.js") },
    ],
  },
  {
    name: "Access",
    icon: "M6.5 13.2a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4zM9.7 10H17M14.5 10v2.8",
    pages: [
      { path: "/ui/access", title: "Tokens", tab: "Tokens", load: () => import("./access.js") },
      {
        path: "/ui/access/members",
        title: "Members",
        tab: "Members",
        load: () => import("./members.js"),
      },
      {
        path: "/ui/access/members/:key",
        title: "Member :key",
        load: () => import("./member.js"),
      },
      {
        path: "/ui/access/groups",
        title: "Groups",
        tab: "Groups",
        load: () => import("./groups.js"),
      },
      {
        path: "/ui/access/rules",
        title: "Rules",
        tab: "Rules",
        load: () => import("./rules.js"),
      },
      {
        path: "/ui/access/limits",
        title: "Limits",
        tab: "Limits",
        load: () => import("./limits.js"),
      },
      {
        path: "/ui/access/sessions",
        title: "Sessions",
        tab: "Sessions",
        load: () => import("./sessions.js"),
      },
      {
        path: "/ui/access/secrets",
        title: "Secrets",
        tab: "Secrets",
        load: () => import("./secrets.js"),
      },
      {
        path: "/ui/access/logins",
        title: "Logins",
        tab: "Logins",
        load: () => import("./logins.js"),
      },
    ],
  },
  {
    name: "Settings",
    icon: "M3.5 6.5h7M14.5 6.5h2M12.5 4.5v4M3.5 13.5h2M9.5 13.5h7M7.5 11.5v4",
    pages: [
      {
        path: "/ui/settings",
        title: "Settings",
        tab: "Settings",
        load: () => import("./settings.js"),
      },
      {
        path: "/ui/settings/clients",
        title: "Client quirks",
        tab: "Client quirks",
        load: () => import("./quirks.js"),
      },
      {
        path: "/ui/settings/doctor",
        title: "Doctor",
        tab: "Doctor",
        load: () => import("./doctor.js"),
      },
    ],
  },
];

/** @type {Page[]} what a member sees and changes of their own */
const own = [
  {
    path: "/ui/my/clients",
    title: "My clients",
    tab: "My clients",
    load: () => import("./myclients.js"),
  },
  {
    path: "/ui/my/logins",
    title: "My logins",
    tab: "My logins",
    load: () => import("./mylogins.js"),
  },
  {
    path: "/ui/my/calls",
    title: "My calls",
    tab: "My calls",
    load: () => import("./mycalls.js"),
  },
  {
    path: "/ui/my/tokens",
    title: "My tokens",
    tab: "My tokens",
    load: () => import("./mytokens.js"),
  },
];
/** @type {Page} for those who do not see the waiting calls of everybody */
const ownWaiting = {
  path: "/ui/my/waiting",
  title: "Waiting",
  load: () => import("./mywaiting.js"),
};
const OWN_ICONS = [
  "M3.5 4h13v9h-13zM7.5 16.5h5M10 13v3.5",
  "M5 9h10v7.5H5zM7 9V6.5a3 3 0 0 1 6 0V9",
  "M2.5 10.5H6l2.5-6 3.5 11 2.5-5h3",
  "M6.5 13.2a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4zM9.7 10H17M14.5 10v2.8",
  "M10 16.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13zM10 6.5V10l2.5 2",
];
const ME = "M10 9.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM4 16.5c.6-3 3-4.5 6-4.5s5.4 1.5 6 4.5";

/** @type {Section[]} */
const memberSections = [...own, ownWaiting].map((page, at) => ({
  name: page.title,
  icon: OWN_ICONS[at],
  pages: [page],
}));
/** @type {Section[]} */
const keeperSections = [...sections, { name: "Mine", icon: ME, pages: own }];

/** The entries for whose page it is; the hub's owner is no member. */
export function sectionsFor(me) {
  if (!me) return sections;
  return me.role === "keeper" ? keeperSections : memberSections;
}

/** @param {Page | undefined} page @param {any} me @returns {Section | undefined} */
export const sectionOf = (page, me) =>
  sectionsFor(me).find((section) => page && section.pages.includes(page));
