"""The input and output of resolving: terms; plans and refusals with their steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from toolyard.core.agents import (
    OPEN_POLICY,
    Agent,
    AgentConfig,
    AgentOverride,
    Mode,
    Policy,
    Transport,
)
from toolyard.core.model import Command, Endpoint, Pairs, ServerId, Url
from toolyard.core.sharing import Asking

Stage = Literal["load", "policy", "mode", "agent"]
Via = Literal["direct", "hub"]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened to a server on its way: where, by which rule, and what."""

    stage: Stage
    rule: str
    text: str
    decides: bool = False
    """Whether it made the plan other than was asked for, or refused it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The way one server will run for one agent."""

    name: str
    transport: Transport
    mode: Mode
    endpoint: Endpoint
    """What the agent is given: a command for pipes of its own, or an address."""
    process: Endpoint
    """What the hub starts or reaches when it stands in: as seen from the hub's own machine."""
    via: Via = "direct"
    place: str = ""
    """The executor on which the hub starts the process; empty for its own machine."""
    server: ServerId | None = None
    """The server of the yard that it is."""
    steps: tuple[Step, ...] = ()

    @property
    def env(self) -> Pairs:
        """The variables of its process, with what the policy injects."""
        return self.process.env if isinstance(self.process, Command) else ()

    @property
    def headers(self) -> Pairs:
        """The headers to send to its address."""
        return self.endpoint.headers if isinstance(self.endpoint, Url) else ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why a server that was asked for is left out."""

    name: str
    code: str
    rule: str
    text: str
    hint: str
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Resolution:
    """The outcome for one run: plans and refusals in the order of their names."""

    agent: str
    executor: str
    session: str
    enabled: bool
    plans: tuple[Plan, ...] = ()
    refusals: tuple[Refusal, ...] = ()

    @property
    def names(self) -> set[str]:
        """All servers that were asked for, given or not."""
        planned = {plan.name for plan in self.plans}
        return planned.union(refusal.name for refusal in self.refusals)


@dataclass(frozen=True, slots=True)
class Known:
    """The facts about a server of the yard that resolving needs."""

    id: ServerId
    endpoint: Endpoint
    enabled: bool = True
    trouble: str = ""
    """Why it may not be started as declared."""
    hint: str = ""
    shareable: bool | None = None
    """Whether sessions can share a process of it, if that was ever tried."""
    executor: str = ""
    """Where its entry has it run, if it says so."""
    asking: Asking | None = None
    """What it was seen to ask without saying whom."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Everything that decides: the agent, its list, the executor, and what is around."""

    agent: Agent
    config: AgentConfig
    executor: str = "local"
    policy: Policy = OPEN_POLICY
    policy_of: str = "the default"
    override: AgentOverride | None = None
    session: str = ""
    yard: Mapping[str, Known] = field(default_factory=dict)
    """By alias and by `name@source`."""
    own: Mapping[Endpoint, ServerId] = field(default_factory=dict)
    """The servers of the picture that agents define themselves, by how they are declared."""
    hub: str = ""
    """The hub's address as it is seen from the executor; empty if it cannot be reached there."""
    loopback: str = ""
    """The host that stands for our loopback there; empty where there is none, or no need."""
    is_site: bool = False
    """Whether the executor is one that the hub can start processes on."""
    is_far: bool = False
    """Whether our loopback cannot be reached there, but through the hub."""
    program: tuple[str, ...] = ("toolyard",)
    """How the command line is started there."""
