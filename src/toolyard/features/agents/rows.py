"""Agents and their lists as the control API takes and gives them."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from toolyard.core.agents import Transport
from toolyard.core.agentwords import AgentConfigRow, AgentServerBody, MetaBody, OverrideBody
from toolyard.operation import FaultRow

Servers = dict[str, AgentServerBody] | None


class AgentConfigBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The servers an agent is given; `mcpServers` is another word for `servers`."""

    enabled: bool
    servers: Servers | UnsetType = UNSET
    mcpServers: Servers | UnsetType = UNSET  # noqa: N815 - the word of the clients' files
    meta: dict[str, MetaBody] | UnsetType | None = UNSET


class AgentConfigChange(Struct, frozen=True, forbid_unknown_fields=True):
    """The parts of an agent's list to write; those not named, or null, stay as they are."""

    enabled: bool | UnsetType | None = UNSET
    servers: Servers | UnsetType = UNSET
    mcpServers: Servers | UnsetType = UNSET  # noqa: N815 - the word of the clients' files
    meta: dict[str, MetaBody] | UnsetType | None = UNSET


class AgentBody(Struct, frozen=True, forbid_unknown_fields=True):
    """An agent of one's own: the transports it takes, in the order in which it likes them."""

    transports: list[str]
    title: str | UnsetType | None = UNSET


class SavedConfig(AgentConfigRow, frozen=True):
    """A list as it was saved; `noticed` says whether the picture shows it already."""

    noticed: bool
    warnings: list[FaultRow]
    success: bool = True


class ChangedList(Struct, frozen=True, omit_defaults=True):
    """The change that a command made to the list of an agent."""

    done: str
    agent: str
    noticed: bool
    enabled: bool
    warnings: list[FaultRow]
    server: str = ""
    """The server that came or went, if it was one."""


class AgentRow(Struct, frozen=True):
    """One agent, in short."""

    id: str
    title: str
    transports: list[Transport]
    own: bool
    """A user defined it."""
    enabled: bool
    configured: bool
    servers: int
    overrides: list[str]
    """The executors that have an override."""


class ShownAgent(AgentRow, frozen=True):
    """One agent with its list, and its overrides for executors."""

    config: AgentConfigRow
    executor: str
    override: OverrideBody | None


class AgentList(Struct, frozen=True):
    """Every agent."""

    agents: list[AgentRow]


class CheckedConfig(Struct, frozen=True):
    """The faults of a list; nothing was saved."""

    valid: bool
    errors: list[FaultRow]
    warnings: list[FaultRow]
