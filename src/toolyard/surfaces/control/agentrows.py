"""What the control API says and takes about agents, as types."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from toolyard.core.agents import Mode, Transport
from toolyard.operation import FaultRow
from toolyard.surfaces.control.endpointrows import EndpointBody

Name = Annotated[str, Meta(min_length=1, max_length=200)]


class AgentServerBody(EndpointBody, frozen=True):
    """A server on a list: a definition, or in `server` the name of one that the yard knows."""

    mode: str | UnsetType | None = UNSET
    server: str | UnsetType | None = UNSET


class MetaBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What people see of a server on a list."""

    name: str | UnsetType | None = UNSET
    description: str | UnsetType | None = UNSET
    url: str | UnsetType | None = UNSET
    icon: str | UnsetType | None = UNSET


Servers = dict[str, AgentServerBody] | None


class AgentConfigBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which servers an agent is given; `mcpServers` is another word for `servers`."""

    enabled: bool
    servers: Servers | UnsetType = UNSET
    mcpServers: Servers | UnsetType = UNSET  # noqa: N815 - the word of the clients' files
    meta: dict[str, MetaBody] | UnsetType | None = UNSET


class AgentConfigChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to write of an agent's list; what is not named, or null, stays as it is."""

    enabled: bool | UnsetType | None = UNSET
    servers: Servers | UnsetType = UNSET
    mcpServers: Servers | UnsetType = UNSET  # noqa: N815 - the word of the clients' files
    meta: dict[str, MetaBody] | UnsetType | None = UNSET


class OverrideBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What differs with one executor; a server that is null is left out there."""

    enabled: bool | UnsetType | None = UNSET
    servers: dict[str, AgentServerBody | None] | UnsetType | None = UNSET


class AgentBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An agent of one's own: the transports it takes, in the order in which it likes them."""

    transports: list[str]
    title: str | UnsetType | None = UNSET


class AgentConfigRow(msgspec.Struct, frozen=True):
    """Which servers an agent is given."""

    agent_id: str
    enabled: bool
    servers: dict[str, AgentServerBody]
    meta: dict[str, MetaBody]


class SavedConfig(AgentConfigRow, frozen=True):
    """A list as it was saved; `noticed` says whether the picture shows it already."""

    noticed: bool
    warnings: list[FaultRow]
    success: bool = True


class AgentRow(msgspec.Struct, frozen=True):
    """One agent, in short."""

    id: str
    title: str
    transports: list[Transport]
    own: bool
    """Whether a user defined it."""
    enabled: bool
    configured: bool
    servers: int
    overrides: list[str]
    """The executors with which something differs."""


class AgentList(msgspec.Struct, frozen=True):
    """Every agent."""

    agents: list[AgentRow]


class CheckedConfig(msgspec.Struct, frozen=True):
    """What is wrong with a list; nothing was saved."""

    valid: bool
    errors: list[FaultRow]
    warnings: list[FaultRow]


class StepRow(msgspec.Struct, frozen=True):
    """One thing that happened to a server on its way."""

    stage: str
    rule: str
    text: str
    decides: bool


class PlanEndpoint(msgspec.Struct, frozen=True):
    """The command of a plan, or its address."""

    command: str | UnsetType = UNSET
    args: list[str] | UnsetType = UNSET
    cwd: str | UnsetType | None = UNSET
    url: str | UnsetType = UNSET


class PlanRow(msgspec.Struct, frozen=True):
    """How one server will run for one agent; references stand for secrets."""

    name: str
    transport: Transport
    mode: Mode
    via: Literal["direct", "hub"]
    server: str
    """The server of the yard that it is."""
    endpoint: PlanEndpoint
    env: dict[str, str]
    headers: dict[str, str]
    steps: list[StepRow]


class RefusalRow(msgspec.Struct, frozen=True):
    """Why a server that was asked for is left out."""

    name: str
    code: str
    rule: str
    text: str
    hint: str
    steps: list[StepRow]


class ResolutionRow(msgspec.Struct, frozen=True):
    """What one run gets."""

    agent: str
    executor: str
    session: str
    enabled: bool
    servers: list[PlanRow]
    refusals: list[RefusalRow]


class StoryRow(msgspec.Struct, frozen=True):
    """Why an agent is given a server or tool, or is not."""

    name: str
    agent: str
    executor: str
    verdict: str
    text: str
    hint: str
    server: str
    tool: str
    decided: StepRow | None
    """The first step that made it other than was asked for."""
    steps: list[StepRow]
    plan: PlanRow | None
    also: list[str]
