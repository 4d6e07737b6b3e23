// The addresses of what has a page of its own.

import { segment } from "./store.js";

export const serverPath = (alias) => `/ui/servers/${segment(alias)}`;
export const toolPath = (alias, tool) => `${serverPath(alias)}/tools/${segment(tool)}`;
export const shelfPath = (name) => `/ui/catalog/${segment(name)}`;
export const agentPath = (id) => `/ui/agents/${segment(id)}`;
export const profilePath = (name) => `/ui/profiles/${segment(name)}`;
export const policyPath = (executor) => `/ui/policies/${segment(executor)}`;
export const callsPath = "/ui/activity/calls";
export const callPath = (id) => `${callsPath}/${segment(id)}`;
