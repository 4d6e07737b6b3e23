"""Agents and their lists as the control API takes and gives them."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from toolyard.core.agents import Transport
from toolyard.core.endpoint_body import EndpointBody
from toolyard.operation import FaultRow


class AgentServerBody(EndpointBody, frozen=True):
    """A server on a list: a definition, or in `server` the name of one that the yard knows."""

    mode: str | UnsetType | None = UNSET
    server: str | UnsetType | None = UNSET


class MetaBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The description of a server on a list, for people."""

    name: str | UnsetType | None = UNSET
    description: str | UnsetType | None = UNSET
    url: str | UnsetType | None = UNSET
    icon: str | UnsetType | None = UNSET


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


class OverrideBody(Struct, frozen=True, forbid_unknown_fields=True):
    """The differences with one executor; a server that is null is left out there."""

    enabled: bool | UnsetType | None = UNSET
    servers: dict[str, AgentServerBody | None] | UnsetType | None = UNSET


class AgentBody(Struct, frozen=True, forbid_unknown_fields=True):
    """An agent of one's own: the transports it takes, in the order in which it likes them."""

    transports: list[str]
    title: str | UnsetType | None = UNSET


class AgentConfigRow(Struct, frozen=True):
    """The servers an agent is given."""

    agent_id: str
    enabled: bool
    servers: dict[str, AgentServerBody]
    meta: dict[str, MetaBody]


class SavedConfig(AgentConfigRow, frozen=True):
    """A list as it was saved; `noticed` says whether the picture shows it already."""

    noticed: bool
    warnings: list[FaultRow]
    success: bool = True


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
    """The executors with which something differs."""


class AgentList(Struct, frozen=True):
    """Every agent."""

    agents: list[AgentRow]


class CheckedConfig(Struct, frozen=True):
    """The faults of a list; nothing was saved."""

    valid: bool
    errors: list[FaultRow]
    warnings: list[FaultRow]
