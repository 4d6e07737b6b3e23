"""Agents, lists, policies and executors as records: their plain data, and what is wrong with it."""

from __future__ import annotations

from typing import Any, Final, Literal, cast, get_args

import msgspec

from toolyard.core.agentfiles import read_agent, read_config, read_override, read_policy
from toolyard.core.agents import Agent, AgentConfig, AgentOverride, Policy
from toolyard.core.agentwords import write_config, write_override, write_policy
from toolyard.core.errors import ConfigError, StoreError
from toolyard.core.model import Problem
from toolyard.core.problems import ProblemCode
from toolyard.core.site_fields import read_site, write_site
from toolyard.core.sites import Site
from toolyard.features.agents.rows import AgentBody, AgentConfigBody

Kind = Literal["agent", "config", "override", "policy", "site"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
Value = Agent | AgentConfig | AgentOverride | Policy | Site
Key = tuple[Kind, str]
_HINTS: Final[dict[Kind, str]] = {
    "agent": "define it again: toolyard agent add {0} --transport stdio",
    "config": "write it again: toolyard agent set {0} FILE",
    "override": "until it is written again, that agent gets nothing there",
    "policy": "until it is, nothing is allowed there; toolyard policy set {0}, or reset {0}",
    "site": "define the executor {0} again",
}
SHUT: Final = Policy(False, False, False, False, stdio_proxy=False)
"""Stands in for a policy that cannot be read: better nothing than what it would have refused."""


class AgentCodec:
    """Reads and writes the records of agents; a key is the kind and the name of one."""

    def read(self, key: str, plain: Any) -> Value:
        """Make a value of plain data; raises like `read_value`."""
        try:
            return read_value(*split_key(key), plain)
        except TypeError as error:
            raise ConfigError(str(error)) from error

    def write(self, value: Value) -> object:
        """Make plain data of a value."""
        return write_value(value)

    def problem(self, key: str | None, where: str, error: ConfigError | StoreError) -> Problem:
        """Say that a record cannot be read, or none."""
        if key is None:
            hint = error.hint or "restore the database, or move it away"
            return Problem(ProblemCode.AGENTS_FAILED, str(error), hint, "agents")
        kind, name = split_key(key)
        text = f"the {spell(kind, name)} cannot be read: {error}"
        return Problem(ProblemCode.AGENTS_RECORD, text, _HINTS[kind].format(name), key)


def join_key(kind: Kind, name: str) -> str:
    """The key of a record."""
    return f"{kind} {name}"


def split_key(key: str) -> Key:
    """The kind and the name that a key is of."""
    kind, _, name = key.partition(" ")
    return cast("Kind", kind), name


def spell(kind: Kind, name: str) -> str:
    """A record, for people."""
    words = {"config": "list of", "site": "executor", "policy": "policy of"}
    return f"{words.get(kind, kind)} {name!r}"


def pair(agent: str, executor: str) -> str:
    """The key of an override; no name has a blank."""
    return f"{agent} {executor}"


def apart(key: str) -> tuple[str, str]:
    """The agent and the executor that the key of an override names."""
    agent, _, executor = key.partition(" ")
    return agent, executor


def write_value(value: Value) -> object:
    """Make plain data of a value."""
    return msgspec.to_builtins(_body(value))


def _body(value: Value) -> msgspec.Struct:
    match value:
        case Agent():
            return AgentBody(list(value.transports), value.title)
        case AgentConfig():
            row = write_config(value)
            return AgentConfigBody(row.enabled, row.servers, meta=row.meta)
        case AgentOverride():
            return write_override(value)
        case Policy():
            return write_policy(value)
        case Site():
            return write_site(value)


def read_value(kind: Kind, key: str, plain: Any) -> Value:
    """Make a value of plain data.

    Raises:
        ConfigError: It cannot be used.
    """
    match kind:
        case "agent":
            return read_agent(key, plain)
        case "config":
            return read_config(key, plain)
        case "override":
            agent, executor = apart(key)
            return read_override(agent, executor, plain)
        case "policy":
            return read_policy(plain)
        case "site":
            return read_site(key, plain)


def stand_in(kind: Kind, key: str) -> Value | None:
    """Return what counts for a row that cannot be read: nothing is given that it may forbid."""
    if kind == "policy":
        return SHUT
    if kind == "override":
        agent, executor = apart(key)
        return AgentOverride(agent, executor, enabled=False)
    return None
