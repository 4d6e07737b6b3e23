// The addresses of what has a page of its own.

import { isPlainMember, segment } from "./store.js";

export const serverPath = (alias) => `/ui/servers/${segment(alias)}`;
export const toolPath = (alias, tool) => `${serverPath(alias)}/tools/${segment(tool)}`;
export const shelfPath = (name) => `/ui/catalog/${segment(name)}`;
export const agentPath = (id) => `/ui/agents/${segment(id)}`;
export const profilePath = (name) => `/ui/profiles/${segment(name)}`;
export const policyPath = (executor) => `/ui/policies/${segment(executor)}`;
export const memberPath = (key) => `/ui/access/members/${segment(key)}`;
export const callsPath = "/ui/activity/calls";
export const callPath = (id) => `${callsPath}/${segment(id)}`;
export const rulesPath = "/ui/access/rules";
// Whoever runs the hub answers for everybody, a member for themselves.
export const waitingPath = () => (isPlainMember() ? "/ui/my/waiting" : "/ui/activity/waiting");
