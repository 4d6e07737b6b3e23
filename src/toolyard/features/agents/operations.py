"""Questions and orders about agents: their lists, what a run gets, and runs."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any, Final

from toolyard.core.agentfiles import fill_in, read_agent, read_config, read_override
from toolyard.core.agents import Agent, Roster
from toolyard.core.agentwords import (
    AgentConfigRow,
    OverrideBody,
    write_config,
    write_override,
)
from toolyard.core.errors import ConflictError, UnknownNameError
from toolyard.core.fields import FaultsError
from toolyard.core.lookup import find_executor
from toolyard.core.model import Snapshot
from toolyard.core.plans import Plan
from toolyard.features.agents.checks import Checked, check_config, check_override
from toolyard.features.agents.codec import pair
from toolyard.features.agents.explanation import explain
from toolyard.features.agents.orders import (
    AgentId,
    AgentQuery,
    ChangeConfig,
    CheckConfig,
    DefineAgent,
    NewRun,
    OverrideKey,
    PutConfig,
    PutOverride,
    RenderQuery,
    RunQuery,
    RunSession,
    WhyQuery,
)
from toolyard.features.agents.planrows import (
    RenderRow,
    ResolutionRow,
    RunRow,
    StoryRow,
    refusal_row,
    resolution_row,
    run_server,
    story_row,
)
from toolyard.features.agents.rendering import render_manifests
from toolyard.features.agents.resolutions import Resolutions
from toolyard.features.agents.rows import (
    AgentBody,
    AgentConfigBody,
    AgentConfigChange,
    AgentList,
    AgentRow,
    CheckedConfig,
    SavedConfig,
)
from toolyard.features.agents.store import AgentStore
from toolyard.features.tokens.store import TokensFile
from toolyard.operation import Done, Guard, NoInput, Ordered, Versioned, fault_rows, operation
from toolyard.relay.dismissals import Dismissals
from toolyard.yard import Yard

SHORT = "/api/mcp-config"
TOP = "/api/v1/agents"
ONE = "/api/v1/agents/{id}"
CONFIG = "/api/v1/agents/{id}/config"
OVERRIDE = "/api/v1/agents/{id}/overrides/{executor}"
RUNS = "/api/v1/runs"
RUN_PREFIX: Final = "run-"
"""The names of the tokens of runs begin so."""
TRIES: Final = 20
"""Tries for a change of a part, as long as somebody else is quicker each time."""


@operation("GET", SHORT, errors=(404,), invalid=400)
async def get_agent_config(yard: Yard, order: AgentQuery) -> Versioned[AgentConfigRow]:
    """The list of an agent."""
    return _config_row(yard, order.agent)


@operation(
    "POST",
    SHORT,
    query=("agent", "executor"),
    guard=Guard.RECORD,
    shape=AgentConfigChange,
    errors=(404,),
    invalid=400,
    says_success=True,
)
async def change_config(yard: Yard, order: ChangeConfig) -> Versioned[SavedConfig]:
    """Write the fields of a list that are named; the others stay as they are."""
    store, expected = yard.part(AgentStore), yard.expected
    for _ in range(TRIES):
        records = await asyncio.to_thread(store.load)
        agent = records.roster.agent(order.agent).id
        version = records.version("config", agent)
        body = fill_in(order.body, records.roster.config(agent))
        # What is kept was read at this version, so it is written over no other.
        versions = frozenset({version}) if not expected or expected & {version, "*"} else expected
        try:
            return await _save_config(yard, agent, body, order.executor, versions)
        except ConflictError as error:
            if expected and "*" not in expected:
                raise
            conflict = error
    raise conflict


@operation("GET", TOP)
async def list_agents(yard: Yard, order: NoInput) -> AgentList:
    """All agents."""
    roster = yard.part(AgentStore).records.roster
    return AgentList([_agent_row(roster, roster.agents[name]) for name in sorted(roster.agents)])


@operation("GET", ONE)
async def get_agent(yard: Yard, order: AgentId) -> Versioned[AgentRow]:
    """One agent."""
    records = yard.part(AgentStore).records
    agent = records.roster.agent(order.id)
    return Versioned(_agent_row(records.roster, agent), records.version("agent", agent.id))


@operation("PUT", ONE, guard=Guard.RECORD, shape=AgentBody)
async def define_agent(yard: Yard, order: DefineAgent) -> Versioned[Ordered]:
    """Define an agent."""
    agent = read_agent(order.id, order.body)
    put = yard.part(AgentStore).put_agent
    version = await asyncio.to_thread(put, agent, yard.expected, by=yard.caller)
    noticed = await yard.seen(lambda picture: picture.roster.agents.get(agent.id) == agent)
    return Versioned(Ordered(order.id, noticed), str(version))


@operation("DELETE", ONE, guard=Guard.RECORD, errors=(409,))
async def remove_agent(yard: Yard, order: AgentId) -> Ordered:
    """Delete an agent that a user defined, with its list."""
    store = yard.part(AgentStore)
    id_ = store.records.roster.agent(order.id).id
    await asyncio.to_thread(store.remove_agent, id_, yard.expected, by=yard.caller)
    # One that is known from the start is as it was again.
    noticed = await yard.seen(
        lambda picture: id_ not in picture.roster.agents or not picture.roster.agents[id_].own
    )
    return Ordered(order.id, noticed)


@operation("GET", CONFIG)
async def get_config(yard: Yard, order: AgentId) -> Versioned[AgentConfigRow]:
    """The list of one agent."""
    return _config_row(yard, order.id)


@operation("PUT", CONFIG, query=("executor",), guard=Guard.RECORD, shape=AgentConfigBody)
async def put_config(yard: Yard, order: PutConfig) -> Versioned[SavedConfig]:
    """Write the whole list of an agent."""
    return await _save_config(yard, order.id, order.body, order.executor, yard.expected)


@operation("GET", OVERRIDE)
async def get_override(yard: Yard, order: OverrideKey) -> Versioned[OverrideBody]:
    """The override of an agent's list for one executor."""
    records = yard.part(AgentStore).records
    agent, executor = _find(records.roster, order.id, order.executor)
    override = records.roster.overrides.get((agent, executor))
    if override is None:
        hint = f"the default list of {agent!r} applies there"
        raise UnknownNameError(f"{agent!r} has no override for {executor!r}", hint)
    version = records.version("override", pair(agent, executor))
    return Versioned(write_override(override), version)


@operation("PUT", OVERRIDE, guard=Guard.RECORD, shape=OverrideBody)
async def put_override(yard: Yard, order: PutOverride) -> Versioned[Ordered]:
    """Write the override of an agent's list for one executor."""
    resolutions = yard.part(Resolutions)
    key = _find(resolutions.resolver.roster, order.id, order.executor)
    override = read_override(*key, order.body)
    check_override(resolutions, override).raise_faults()
    put = yard.part(AgentStore).put_override
    version = await asyncio.to_thread(put, override, yard.expected, by=yard.caller)
    noticed = await yard.seen(lambda picture: picture.roster.overrides.get(key) == override)
    return Versioned(Ordered(f"{order.id} x {order.executor}", noticed), str(version))


@operation("DELETE", OVERRIDE, guard=Guard.RECORD)
async def remove_override(yard: Yard, order: OverrideKey) -> Ordered:
    """Delete the override of an agent's list for one executor."""
    store = yard.part(AgentStore)
    key = _find(store.records.roster, order.id, order.executor)
    await asyncio.to_thread(store.remove_override, *key, yard.expected, by=yard.caller)
    noticed = await yard.seen(lambda picture: key not in picture.roster.overrides)
    return Ordered(f"{order.id} x {order.executor}", noticed)


@operation("GET", "/api/v1/resolve", errors=(404,))
async def resolve_run(yard: Yard, order: RunQuery) -> ResolutionRow:
    """The servers that a run of an agent gets, and those it does not."""
    resolutions = yard.part(Resolutions)
    await resolutions.prepare(order.executor)
    return resolution_row(resolutions.planned(order.agent, order.executor), order.session)


@operation("GET", "/api/v1/render", tag="executors", errors=(404,))
async def render_agent(yard: Yard, order: RenderQuery) -> RenderRow:
    """Manifests of an agent's servers."""
    site, resolutions = find_executor(yard.snapshot, order.executor), yard.part(Resolutions)
    await resolutions.prepare(site.name)
    resolution = resolutions.planned(order.agent, site.name)
    args = (yard.snapshot, resolution, site, order.native)
    return RenderRow(await asyncio.to_thread(render_manifests, *args))


@operation("GET", "/api/v1/why", errors=(404,))
async def explain_server(yard: Yard, order: WhyQuery) -> StoryRow:
    """The reason why an agent gets a server or tool, or does not."""
    resolutions = yard.part(Resolutions)
    await resolutions.prepare(order.executor)
    resolution = resolutions.planned(order.agent, order.executor)
    return story_row(explain(order.name, resolution, yard.snapshot, resolutions.resolver.roster))


# Whatever the body is, it is checked, so that nothing is too wrong to be asked about.
@operation("POST", f"{ONE}/validate", query=("executor", "override"), shape=Any)
async def validate_config(yard: Yard, order: CheckConfig) -> CheckedConfig:
    """Check a list without saving it."""
    resolutions = yard.part(Resolutions)
    agent, executor = _find(resolutions.resolver.roster, order.id, order.executor)
    try:
        if order.override:
            override = read_override(agent, executor, order.body)
            checked = check_override(resolutions, override)
        else:
            checked = check_config(resolutions, read_config(agent, order.body), executor)
    except FaultsError as error:
        checked = Checked(error.faults)
    errors, warnings = fault_rows(checked.faults), fault_rows(checked.warnings)
    return CheckedConfig(not errors, errors, warnings)


@operation("POST", RUNS, status=201, errors=(404, 409))
async def begin_run(yard: Yard, order: NewRun) -> RunRow:
    """Begin a run of an agent."""
    session = order.session or secrets.token_hex(8)
    resolutions = yard.part(Resolutions)
    await resolutions.prepare(order.executor)
    resolution = resolutions.planned(order.agent, order.executor)
    limits = frozenset[str](), "", resolution.agent, resolution.executor
    create = yard.part(TokensFile).create
    token = await asyncio.to_thread(create, RUN_PREFIX + session, *limits, by=yard.caller)
    servers = [run_server(plan, _folder(yard.snapshot, plan)) for plan in resolution.plans]
    refusals = [refusal_row(refusal) for refusal in resolution.refusals]
    return RunRow(session, resolution.agent, resolution.executor, token, servers, refusals)


@operation("DELETE", f"{RUNS}/{{session}}", errors=(404,))
async def end_run(yard: Yard, order: RunSession) -> Done:
    """End a run; its token is worthless from then on."""
    tokens, name = yard.part(TokensFile), RUN_PREFIX + order.session
    if await asyncio.to_thread(tokens.get, name) is None:
        raise UnknownNameError(f"there is no run {order.session[:80]!r}", "it has ended")
    token = await asyncio.to_thread(tokens.revoke, name, by=yard.caller)
    yard.part(Dismissals).dismiss(token.caller)
    return Done()


def _folder(snapshot: Snapshot, plan: Plan) -> str:
    """The folder that a server of the yard belongs to, if any."""
    entry = snapshot.entries.get(plan.server) if plan.server else None
    return (entry.server.folder or "") if entry else ""


async def _save_config(
    yard: Yard, agent: str, body: Any, executor: str, expected: frozenset[str]
) -> Versioned[SavedConfig]:
    """Write a list that has no faults.

    Raises:
        UnknownNameError: There is no such agent or executor.
        FaultsError: It cannot be used; nothing of it was stored.
        ConflictError: The list is at none of the expected versions.
    """
    resolutions = yard.part(Resolutions)
    id_, where = _find(resolutions.resolver.roster, agent, executor)
    config = read_config(id_, body)
    checked = check_config(resolutions, config, where)
    checked.raise_faults()
    put = yard.part(AgentStore).put_config
    version = await asyncio.to_thread(put, config, expected, by=yard.caller)
    noticed = await yard.seen(lambda picture: picture.roster.configs.get(id_) == config)
    row, warnings = write_config(config), fault_rows(checked.warnings)
    saved = SavedConfig(row.agent_id, row.enabled, row.servers, row.meta, noticed, warnings)
    return Versioned(saved, str(version))


def _config_row(yard: Yard, agent: str) -> Versioned[AgentConfigRow]:
    records = yard.part(AgentStore).records
    config = records.roster.config(records.roster.agent(agent).id)
    return Versioned(write_config(config), records.version("config", config.agent))


def _agent_row(roster: Roster, agent: Agent) -> AgentRow:
    config = roster.config(agent.id)
    return AgentRow(
        agent.id,
        agent.title,
        list(agent.transports),
        agent.own,
        config.enabled,
        agent.id in roster.configs,
        len(config.servers),
        sorted(executor for name, executor in roster.overrides if name == agent.id),
    )


def _find(roster: Roster, agent: str, executor: str) -> tuple[str, str]:
    """The agent and the executor that are meant, in any spelling.

    Raises:
        UnknownNameError: There is no such agent or executor.
    """
    return roster.agent(agent).id, roster.executor(executor)
