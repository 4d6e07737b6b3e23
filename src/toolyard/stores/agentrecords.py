"""Agents, lists, policies and executors as records: their plain data, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, cast, get_args

from toolyard.core.agentfiles import NAME, read_agent, read_config, read_override, read_policy
from toolyard.core.agents import Agent, AgentConfig, Override, Policy
from toolyard.core.agentwords import write_config, write_override, write_policy
from toolyard.core.errors import ConfigError, StoreError
from toolyard.core.model import Problem
from toolyard.core.problems import ProblemCode
from toolyard.core.sites import SITE_TYPES, Site, SiteType

Kind = Literal["agent", "config", "override", "policy", "site"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
Value = Agent | AgentConfig | Override | Policy | Site
Key = tuple[Kind, str]
_HINTS: Final[dict[Kind, str]] = {
    "agent": "define it again: toolyard agent add {0} --transport stdio",
    "config": "write it again: toolyard agent set {0} FILE",
    "override": "until it is written again, that agent gets nothing there",
    "policy": "until it is, nothing is allowed there; toolyard policy set {0}, or reset {0}",
    "site": "define the executor {0} again",
}
LIMITS: Final = ("running_limit", "memory_limit")
SHUT: Final = Policy(False, False, False, False, stdio_proxy=False)
"""Stands in for a policy that cannot be read: better nothing than what it would have refused."""


class RosterCodec:
    """Reads and writes the records of agents; a key is the kind and the name of one."""

    def read(self, key: str, plain: Any) -> Value:
        """Make a value of plain data; raises like `read_value`."""
        try:
            return read_value(*split_key(key), plain)
        except TypeError as error:
            raise ConfigError(str(error)) from error

    def write(self, value: Value) -> dict[str, Any]:
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


def write_value(value: Value) -> dict[str, Any]:
    """Make plain data of a value."""
    said: dict[str, Any]
    match value:
        case Agent():
            said = {"title": value.title, "transports": list(value.transports)}
        case AgentConfig():
            said = write_config(value)
            del said["agent_id"]
        case Override():
            said = write_override(value)
        case Policy():
            said = write_policy(value)
        case Site():
            said = {"type": value.type, "host": value.host, "options": dict(value.options)}
            said |= {key: most for key in LIMITS if (most := getattr(value, key)) is not None}
    return said


def read_value(kind: Kind, key: str, said: Any) -> Value:
    """Make a value of plain data.

    Raises:
        ConfigError: It cannot be used.
    """
    match kind:
        case "agent":
            return read_agent(key, said)
        case "config":
            return read_config(key, said)
        case "override":
            agent, executor = apart(key)
            return read_override(agent, executor, said)
        case "policy":
            return read_policy(said)
        case "site":
            return read_site(key, said)


def stand_in(kind: Kind, key: str) -> Value | None:
    """What counts in place of a row that cannot be read: nothing is given that it may forbid."""
    if kind == "policy":
        return SHUT
    if kind == "override":
        agent, executor = apart(key)
        return Override(agent, executor, enabled=False)
    return None


def read_site(name: str, said: Any) -> Site:
    """Make an executor of what was written: `{type, host, options}`, with limits or without.

    Raises:
        ConfigError: It cannot be used.
    """
    if not NAME.fullmatch(name) or not isinstance(said, Mapping):
        raise ConfigError(f"{name[:80]!r} is no executor", "write it as {type, host, options}")
    type_, host, options = said.get("type"), said.get("host", ""), said.get("options") or {}
    if type_ not in SITE_TYPES:
        raise ConfigError("there is no such type", f"use one of {', '.join(SITE_TYPES)}")
    plain = isinstance(options, Mapping) and all(isinstance(v, str) for v in options.values())
    if not isinstance(host, str) or not plain:
        raise ConfigError("'host' or 'options' is not text", "put values in double quotes")
    pairs = tuple((str(each), str(value)) for each, value in options.items())
    return Site(name, cast("SiteType", type_), host, pairs, *(_limit(said, key) for key in LIMITS))


def _limit(said: Mapping[str, Any], key: str) -> int | None:
    most = said.get(key)
    if most is None:
        return None
    if isinstance(most, bool) or not isinstance(most, int) or not 0 <= most < 1 << 31:
        raise ConfigError(f"{key!r} is not a whole number", "write it as 8, or 0 for no limit")
    return most
