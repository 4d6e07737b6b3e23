// What lists of tools cost: a bar for each connected client, and one for the whole yard.

import { looking, quiet, under } from "./bits.js";
import { count, tokens, visible } from "./words.js";
import { barList } from "./bars.js";
import { OTHERS, colourAt } from "./colours.js";

function listed({ agent, profile }) {
  if (agent) return `the list of ${visible(agent)}`;
  return profile ? `the profile ${visible(profile)}` : "the whole yard";
}

function name(cost) {
  const left = cost.left_out ? `, ${cost.left_out} left out` : "";
  const tools = `${count(cost.tools, "tool")}${left}`;
  if (!cost.client && !cost.sessions) return ["The whole yard", under(tools)];
  return [visible(cost.client) || "unnamed", under(`${listed(cost)}, ${tools}`)];
}

export function schemaCosts(costs) {
  if (!costs) return looking();
  const order = costs.yard.servers.map((share) => share.server).filter(Boolean);
  const part = ({ server, tokens: value }) => ({
    name: visible(server) || "the hub's own tools",
    value,
    words: tokens(value),
    colour: server ? colourAt(order.indexOf(server)) : OTHERS,
  });
  const bar = (cost, at) => ({
    key: String(at),
    name: name(cost),
    words: tokens(cost.tokens),
    parts: cost.servers.map(part),
  });
  return [
    quiet("About how many tokens of its model's context each client spends on the list of tools."),
    barList([...costs.clients, costs.yard].map(bar)),
    costs.clients.length ? null : quiet("No client is connected now."),
  ];
}
