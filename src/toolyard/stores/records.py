"""How agents, lists, policies and executors stand in the rows of the database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, cast, get_args

import msgspec

from toolyard.core.agentfiles import NAME, read_agent, read_config, read_override, read_policy
from toolyard.core.agents import Agent, AgentConfig, Override, Policy
from toolyard.core.agentwords import write_config, write_override, write_policy
from toolyard.core.errors import ConfigError
from toolyard.core.sites import SITE_TYPES, Site, SiteType

Kind = Literal["agent", "config", "override", "policy", "site"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
Value = Agent | AgentConfig | Override | Policy | Site
Key = tuple[Kind, str]
LIMITS: Final = ("running_limit", "memory_limit")
SHUT: Final = Policy(False, False, False, False, stdio_proxy=False)
"""Stands in for a policy that cannot be read: better nothing than what it would have refused."""


def pair(agent: str, executor: str) -> str:
    """The key of an override; no name has a blank."""
    return f"{agent} {executor}"


def apart(key: str) -> tuple[str, str]:
    """The agent and the executor that the key of an override names."""
    agent, _, executor = key.partition(" ")
    return agent, executor


def write_value(value: Value) -> str:
    """The text of a row."""
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
    return msgspec.json.encode(said).decode()


def read_value(kind: Kind, key: str, text: str) -> Value:
    """What a row stands for.

    Raises:
        ConfigError: It cannot be used.
    """
    try:
        said = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ConfigError(f"it is not JSON: {error}") from error
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
