"""Agents, their lists, policies and executors as sections of a document."""

from __future__ import annotations

from typing import Any, Final, cast

import msgspec

from toolyard.core.agents import EXECUTORS, AgentConfig, Policy, spelled
from toolyard.core.errors import ConfigError, StoreError
from toolyard.core.jsontypes import JsonObject
from toolyard.features.agents.codec import Kind, Value, join_key, pair, read_value, write_value
from toolyard.features.agents.operations import (
    define_agent,
    put_config,
    put_override,
    remove_agent,
    remove_override,
)
from toolyard.features.agents.orders import (
    AgentId,
    DefineAgent,
    OverrideKey,
    PutConfig,
    PutOverride,
)
from toolyard.features.agents.store import AgentStore
from toolyard.features.executors.operations import (
    ExecutorName,
    PutExecutor,
    put_executor,
    remove_executor,
)
from toolyard.features.policies.operations import PolicyOf, PutPolicy, put_policy, reset_policy
from toolyard.features.transfer.sections import (
    DocumentSection,
    RecordWrite,
    SectionContents,
    at_any_version,
    left_out,
    refuse_unknown,
    without_empty,
)
from toolyard.records.state import RESTORE
from toolyard.yard import Yard

_USUAL: Final = cast("JsonObject", write_value(Policy()))
_EXECUTOR: Final = ("type", "host", "options", "running_limit", "memory_limit")


def split_override(name: str) -> tuple[str, str]:
    """Return the agent and the executor of an override, `agent/executor`.

    Raises:
        ConfigError: It names none.
    """
    agent, slash, executor = name.partition("/")
    if not slash or not agent or not executor or "/" in executor:
        raise ConfigError("it names no agent and executor", "write it as codex/docker")
    return agent, executor


def write_body(value: Value) -> JsonObject:
    """Return a record of agents in the one form that a document has."""
    body = cast("JsonObject", write_value(value))
    match value:
        case Policy():
            return {key: member for key, member in body.items() if member != _USUAL[key]}
        case AgentConfig():
            return body if body["meta"] else {key: body[key] for key in ("enabled", "servers")}
        case _:
            return without_empty(body)


def _read(yard: Yard, kind: Kind, word: str, values: dict[str, tuple[str, Any]]) -> SectionContents:
    """The contents of a section: by name, the key of each record and its value."""
    if not yard.part(AgentStore).is_open:
        raise StoreError("the lists of agents cannot be read: the database is not open", RESTORE)
    records = yard.part(AgentStore).load()
    broken = {problem.subject for problem in records.problems}
    bodies, versions, bad = dict[str, JsonObject](), dict[str, str](), list[str]()
    for name, (key, value) in sorted(values.items()):
        if join_key(kind, key) in broken:
            bad.append(name)
            continue
        bodies[name] = write_body(value)
        versions[name] = records.version(kind, key)
    return SectionContents(bodies, versions, left_out(word, bad))


def _check(kind: Kind, name: str, key: str, body: JsonObject) -> JsonObject:
    """Check a body and the spelling of its name."""
    if spelled(name) != name:
        raise ConfigError(f"{name[:80]!r} is not how it is spelled", f"write it as {spelled(name)}")
    try:
        return write_body(read_value(kind, key, body))
    except TypeError as error:
        raise ConfigError(str(error)) from error


# Agents and their lists.


def _read_agents(yard: Yard) -> SectionContents:
    agents = yard.part(AgentStore).load().roster.agents
    return _read(yard, "agent", "agent", {a: (a, agents[a]) for a in agents if agents[a].own})


async def _put_agent(yard: Yard, order: RecordWrite) -> object:
    return await define_agent.run(yard, DefineAgent(order.name, order.body))


async def _remove_agent(yard: Yard, name: str) -> object:
    return await remove_agent.run(at_any_version(yard), AgentId(name))


def _read_lists(yard: Yard) -> SectionContents:
    configs = yard.part(AgentStore).load().roster.configs
    # One that says nothing is what an agent without a list has.
    listed = {
        name: (name, config) for name, config in configs.items() if config != AgentConfig(name)
    }
    return _read(yard, "config", "list", listed)


async def _put_list(yard: Yard, order: RecordWrite) -> object:
    return await put_config.run(yard, PutConfig(order.name, order.body))


async def _remove_list(yard: Yard, name: str) -> object:
    empty = {"enabled": False, "servers": {}}
    return await put_config.run(at_any_version(yard), PutConfig(name, empty))


def _read_overrides(yard: Yard) -> SectionContents:
    overrides = yard.part(AgentStore).load().roster.overrides
    values = {"/".join(key): (pair(*key), value) for key, value in overrides.items()}
    return _read(yard, "override", "override", values)


def _check_override(name: str, body: JsonObject) -> JsonObject:
    return _check("override", name, pair(*split_override(name)), body)


async def _put_override(yard: Yard, order: RecordWrite) -> object:
    return await put_override.run(yard, PutOverride(*split_override(order.name), order.body))


async def _remove_override(yard: Yard, name: str) -> object:
    key = OverrideKey(*split_override(name))
    return await remove_override.run(at_any_version(yard), key)


# Policies and executors.


def _read_policies(yard: Yard) -> SectionContents:
    policies = yard.part(AgentStore).load().roster.policies
    return _read(yard, "policy", "policy", {name: (name, policies[name]) for name in policies})


async def _put_policy(yard: Yard, order: RecordWrite) -> object:
    return await put_policy.run(yard, PutPolicy(order.name, order.body))


async def _remove_policy(yard: Yard, name: str) -> object:
    return await reset_policy.run(at_any_version(yard), PolicyOf(name))


def _read_executors(yard: Yard) -> SectionContents:
    sites = yard.part(AgentStore).load().roster.sites
    return _read(yard, "site", "executor", {name: (name, sites[name]) for name in sites})


def _check_executor(name: str, body: JsonObject) -> JsonObject:
    if name in EXECUTORS:
        raise ConfigError(f"{name!r} is the name of a kind of executor", "choose another")
    refuse_unknown(body, _EXECUTOR)
    return _check("site", name, name, body)


async def _put_executor(yard: Yard, order: RecordWrite) -> object:
    executor = msgspec.convert({"name": order.name, **order.body}, PutExecutor)
    return await put_executor.run(at_any_version(yard), executor)


async def _remove_executor(yard: Yard, name: str) -> object:
    return await remove_executor.run(at_any_version(yard), ExecutorName(name))


AGENTS: Final = DocumentSection(
    "agents",
    "agent",
    _read_agents,
    lambda name, body: _check("agent", name, name, body),
    _put_agent,
    _remove_agent,
)
LISTS: Final = DocumentSection(
    "lists",
    "list",
    _read_lists,
    lambda name, body: _check("config", name, name, body),
    _put_list,
    _remove_list,
    private=("servers",),
)
OVERRIDES: Final = DocumentSection(
    "overrides",
    "override",
    _read_overrides,
    _check_override,
    _put_override,
    _remove_override,
    private=("servers",),
)
POLICIES: Final = DocumentSection(
    "policies",
    "policy",
    _read_policies,
    lambda name, body: _check("policy", name, name, body),
    _put_policy,
    _remove_policy,
    private=("env_injection", "http_url_rewrite"),
)
EXECUTOR_SECTION: Final = DocumentSection(
    "executors",
    "executor",
    _read_executors,
    _check_executor,
    _put_executor,
    _remove_executor,
    private=("host", "options"),
)
