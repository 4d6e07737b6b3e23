// One server: how it is doing and why, what it offers, what changed, what it says and who calls it.

import { h } from "../lib/dom.js";
import { crumbs, facts, heads, looking, quiet, small, tag, under } from "../lib/bits.js";
import { ask, listen, segment, state } from "../lib/store.js";
import { button, code, empty, fold, link, run, spark, stateOf, time } from "../lib/parts.js";
import { bytes, count, ms, short, tokens, visible, whole } from "../lib/words.js";
import { mend, problemWords } from "../lib/causes.js";
import { outcome } from "../lib/outcome.js";
import { differences, findings } from "../lib/differences.js";
import { follow } from "../lib/log.js";
import { Orders } from "../lib/orders.js";
import { agentPath, toolPath } from "../lib/paths.js";

export function open(place) {
  const alias = place.params.alias;
  const path = `/servers/${segment(alias)}`;
  /** @type {Record<string, any>} */
  const mine = {
    details: null,
    offers: null,
    changes: null,
    calls: null,
    finding: null,
    gone: null,
    query: "",
  };
  const log = follow(alias, place);
  const orders = new Orders(alias, place);
  let alive = true;

  async function look() {
    const found = await Promise.allSettled([
      ask(path),
      ask(`${path}/offers`),
      ask(`${path}/changes`),
    ]);
    if (!alive) return;
    mine.gone =
      found[0].status === "rejected" && found[0].reason.status === 404 ? found[0].reason : null;
    ["details", "offers", "changes"].forEach((name, at) => {
      if (found[at].status === "fulfilled") mine[name] = found[at].value;
    });
    place.redraw();
  }
  async function lookBack() {
    try {
      mine.calls = (await ask(`/history?server=${segment(alias)}&limit=15`)).calls;
    } catch {
      mine.calls = [];
    }
    if (alive) place.redraw();
  }
  const forget = listen((kind, said) => {
    if (kind === "picture") look();
    else if (said.some((group) => group.server === alias)) lookBack();
  });
  place.onLeave(() => {
    alive = false;
    forget();
    log.end();
  });
  look().then(() => {
    const wish = location.search;
    history.replaceState(null, "", location.pathname + location.hash);
    if (wish === "?verify") verify();
    if (wish === "?start" && mine.details?.enabled) orders.give("activate", `${alias} runs.`);
  });
  lookBack();

  async function verify() {
    mine.finding = await orders.give("verify", `${alias} was verified.`);
    await look();
    document.getElementById("changes")?.scrollIntoView({ block: "nearest" });
  }
  async function approve(parts = {}) {
    const words = Object.keys(parts).length ? "It is approved." : `${alias} is approved.`;
    await run(words, "POST", `${path}/approve`, { ...parts, hash: mine.changes.hash });
    mine.finding = null;
    look();
  }

  const parts = { alias, mine, log, orders, verify, approve, place };
  return () => draw(parts);
}

function draw(parts) {
  const { mine, alias, log, place } = parts;
  if (mine.gone)
    return empty(
      `There is no server “${visible(alias)}”.`,
      h("p", null, visible(mine.gone.hint)),
      h("p", null, link("/ui", "See all servers")),
    );
  const server = state.status?.servers.find((row) => row.alias === alias) || mine.details;
  if (!server || !mine.details) return looking();
  return [
    heading(server, parts),
    server.problem && !isShownBelow(server.problem, mine)
      ? h(
          "ul",
          { class: "problems" },
          h(
            "li",
            null,
            h(
              "div",
              null,
              h("p", { class: "title" }, problemWords(server.problem, server)),
              quiet(visible(server.problem.hint)),
            ),
            mend(server.problem, server),
          ),
        )
      : null,
    trust(parts),
    h("div", { class: "two" }, condition(server), definition(mine.details)),
    offers(parts),
    h("section", { class: "card" }, h("h2", null, "Log"), log.draw(place)),
    usage(alias, mine),
  ];
}

function heading(server, { orders, verify }) {
  const { alias, title } = server;
  return h(
    "div",
    { class: "top" },
    h(
      "div",
      null,
      crumbs("/ui", "Servers"),
      h("h1", null, visible(alias)),
      title && title !== alias ? quiet(short(title)) : null,
      orders.progress() || h("p", null, stateOf(server)),
    ),
    orders.draw(server, verify),
  );
}

function condition(server) {
  const figures = state.figures.get(server.alias);
  const minutes = figures?.minutes || new Array(60).fill(0);
  const rows = [
    ["Speaks", [server.transport, server.protocol, server.era].filter(Boolean).join(", ")],
    ["Version", server.server_version],
    ["Process", server.pid ? `${server.pid}, ${bytes(figures?.memory_bytes)}` : ""],
    ["Restarts", whole(server.restarts)],
    [
      "Calls, last hour",
      h(
        "span",
        { class: "line" },
        spark(minutes, "calls by minute"),
        count(figures?.calls || 0, "call"),
      ),
    ],
    ["p95", ms(figures?.p95_ms)],
    ["Errors", whole(figures?.errors || 0)],
    [
      "Schemas",
      figures?.schema_tokens ? `${tokens(figures.schema_tokens)} tokens of context` : "–",
    ],
  ];
  return h("section", { class: "card" }, h("h2", null, "State"), facts(rows));
}

const quoted = (word) => (/^[\w./:=@+-]+$/.test(word) ? word : JSON.stringify(visible(word)));

function definition(details) {
  const launch = details.launch;
  const rows = [
    ["Name", visible(details.name)],
    ["From", visible(details.source)],
    ["Command", launch.command ? h("code", null, launch.command.map(quoted).join(" ")) : ""],
    ["In", launch.cwd ? h("code", null, visible(launch.cwd)) : ""],
    ["Address", launch.url ? h("code", null, visible(launch.url)) : ""],
    ["Variables", (launch.env || []).map((name) => h("code", { key: name }, `${visible(name)}=…`))],
    [
      "Headers",
      (launch.headers || []).map((name) => h("code", { key: name }, `${visible(name)}: …`)),
    ],
    ["Timeout", details.timeout_s ? `${details.timeout_s} s` : "the hub's own"],
  ];
  return h(
    "section",
    { class: "card" },
    h("h2", null, "Definition"),
    facts(rows),
    details.instructions ? fold("What it tells models", code(details.instructions)) : null,
  );
}

function findingWords({
  server_name: name,
  server_version: version,
  first_answer_ms: firstAnswer,
  tools,
  prompts,
  resources,
}) {
  const offers = [
    count(tools.length, "tool"),
    count(prompts.length, "prompt"),
    count(resources.length, "resource"),
  ];
  const who = visible(`${name} ${version}`);
  return `${who} answered after ${ms(firstAnswer)}: ${offers.join(", ")}.`;
}

function waitsForApproval({ held, held_also: heldAlso, launch, changes }) {
  return Boolean(held.length || heldAlso.length || launch || changes.length);
}

// What waits for approval is told of with the change itself.
const isShownBelow = ({ code }, { changes }) =>
  /^pin-(changed|launch)/.test(code) && changes && waitsForApproval(changes);

function trust({ mine, approve }) {
  const { changes, finding } = mine;
  const waits = changes && waitsForApproval(changes);
  if (!waits && !finding) return null;
  const shown = waits ? changes.changes : finding.changes;
  return h(
    "section",
    { class: waits ? "card waits" : "card", id: "changes" },
    h(
      "div",
      { class: "top" },
      h("h2", null, waits ? "Changed since it was approved" : "Verified"),
      waits ? button("Approve all of it", () => approve(), { class: "main" }) : null,
    ),
    finding ? quiet(findingWords(finding)) : null,
    changes?.launch
      ? h(
          "p",
          { class: "title" },
          "How it is started has changed; it is not started until you approve.",
        )
      : null,
    findings((waits ? changes : finding).findings),
    shown.length
      ? differences(shown, waits ? approve : null)
      : h("p", null, waits ? "" : "Nothing differs from what was approved."),
  );
}

const KINDS = [
  ["tools", "Tools"],
  ["prompts", "Prompts"],
  ["resources", "Resources"],
  ["templates", "Resource templates"],
];

function offers({ mine, alias, place }) {
  if (!mine.offers) return null;
  const many = mine.offers.tools.length > 12;
  const search = (event) => {
    mine.query = event.target.value.toLowerCase();
    place.redraw();
  };
  return h(
    "section",
    { class: "card" },
    h(
      "div",
      { class: "top" },
      h("h2", null, "What it offers"),
      many
        ? h("input", {
            type: "search",
            class: "narrow",
            placeholder: "Search",
            "aria-label": "Search what it offers",
            on: { input: search },
          })
        : null,
    ),
    KINDS.map(([kind, title]) => section(kind, title, alias, mine)),
    KINDS.every(([kind]) => !mine.offers[kind].length)
      ? quiet("Nothing is known yet. Start it to find out.")
      : null,
  );
}

function section(kind, title, alias, mine) {
  const all = mine.offers[kind];
  if (!all.length) return null;
  const matches = all.filter(({ name, title: words, uri, description }) => {
    return (
      !mine.query ||
      JSON.stringify([name, words, uri, description]).toLowerCase().includes(mine.query)
    );
  });
  const total = matches.length === all.length ? all.length : `${matches.length} of ${all.length}`;
  return h(
    "div",
    { key: kind },
    h("h3", null, `${title} (${total})`),
    h(
      "ul",
      { class: "plain" },
      matches.map((offered, at) => offer(kind, offered, alias, mine, at)),
    ),
  );
}

function offer(kind, offered, alias, mine, at) {
  const name = String(offered.name ?? "");
  const key = String(offered.uri ?? offered.uriTemplate ?? name);
  const isHeldAlso = mine.offers.held_also.some((part) => part.kind === kind && part.name === key);
  const held = kind === "tools" ? mine.offers.held.includes(name) : isHeldAlso;
  const schema = offered.inputSchema || offered.arguments;
  const label =
    kind === "tools" && !held
      ? link(toolPath(alias, name), short(name, 120))
      : h("strong", null, short(name, 120));
  return h(
    "li",
    { key: `${kind} ${name} ${at}`, class: "offer" },
    h(
      "div",
      null,
      label,
      held ? h("span", { class: "tag waiting" }, "waits for approval") : null,
      offered.annotations?.readOnlyHint ? tag("only reads") : null,
      offered.annotations?.destructiveHint ? tag("may destroy") : null,
      offered.uri || offered.uriTemplate
        ? h("code", null, short(offered.uri || offered.uriTemplate))
        : null,
    ),
    h(
      "div",
      null,
      offered.description ? description(offered.description) : null,
      schema ? fold(small("Schema"), code(JSON.stringify(schema, null, 2))) : null,
    ),
  );
}

// Long descriptions are cut, and whole when they are opened.
function description(words) {
  if (String(words).length <= 300) return quiet(visible(words));
  return fold(small(short(words, 300)), code(words));
}

function usage(alias, { calls, details }) {
  const callers = Object.entries(state.figures.get(alias)?.agents || {}).sort(
    (a, b) => b[1] - a[1],
  );
  const agents = callers.map(
    ([name, calls]) => `${visible(name) || "unnamed"}: ${count(calls, "call")}`,
  );
  return h(
    "section",
    { class: "card" },
    h("h2", null, "Who uses it"),
    listedBy(details.agents),
    agents.length
      ? h("p", null, agents.join(", "), " in the last hour")
      : quiet("Nobody called it in the last hour."),
    calls ? lastCalls(calls) : null,
  );
}

function listedBy(agents) {
  if (!agents.length)
    return quiet("On no agent's list. Clients that see the whole yard can still use it.");
  const names = agents.map((agent, at) => [
    at ? ", " : "",
    link(agentPath(agent.id), visible(agent.title)),
    agent.enabled ? "" : " (switched off)",
  ]);
  return h("p", null, "On the lists of ", names, ".");
}

function lastCalls(calls) {
  if (!calls.length) return quiet("No calls are on record.");
  return h(
    "table",
    { class: "stack" },
    heads(["Tool", "When", "Client", "Took", "Answered", "Ended"], "Took", "Answered"),
    h(
      "tbody",
      null,
      calls.map((call) =>
        h(
          "tr",
          { key: call.id },
          h("th", { scope: "row" }, short(call.tool, 80)),
          h("td", { "data-label": "When" }, time(call.at)),
          h("td", { "data-label": "Client" }, short(call.agent, 40)),
          h("td", { "data-label": "Took", class: "number" }, ms(call.ms)),
          h("td", { "data-label": "Answered", class: "number" }, bytes(call.answered)),
          h(
            "td",
            { "data-label": "Ended" },
            outcome(call),
            call.error ? under(short(call.error, 120)) : null,
          ),
        ),
      ),
    ),
  );
}
