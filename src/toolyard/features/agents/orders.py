"""Questions and orders about agents, as types; `core.agentfiles` judges what a `body` says."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

Name = Annotated[str, Meta(min_length=1, max_length=200)]


class AgentQuery(Struct, frozen=True):
    """The agent whose list is meant."""

    agent: Name
    executor: str = ""
    """The executor for which the list is checked when it is saved."""


class ChangeConfig(Struct, frozen=True):
    """A change of an agent's list, and the executor for which it is checked."""

    agent: Name
    body: Any
    executor: str = ""


class RenderQuery(Struct, frozen=True):
    """The agent and the cluster that manifests are for."""

    agent: Name
    executor: Name
    native: bool = False


class AgentId(Struct, frozen=True):
    """The agent that is meant."""

    id: str


class DefineAgent(Struct, frozen=True):
    """An agent of one's own."""

    id: str
    body: Any


class PutConfig(Struct, frozen=True):
    """A whole list, and the executor for which it is checked; with none, this machine."""

    id: str
    body: Any
    executor: str = ""


class CheckConfig(Struct, frozen=True):
    """A list to check for an executor, or an override of it."""

    id: str
    body: Any
    executor: str = ""
    override: bool = False
    """It is an override for the executor, and not a whole list."""


class OverrideKey(Struct, frozen=True):
    """The agent and the executor that are meant."""

    id: str
    executor: str


class PutOverride(Struct, frozen=True):
    """The override to write for an agent with an executor."""

    id: str
    executor: str
    body: Any


class RunQuery(Struct, frozen=True):
    """The run that is meant; without an executor, one on this machine."""

    agent: Name
    executor: str = ""
    session: str = ""


class WhyQuery(Struct, frozen=True):
    """The server or tool that is meant, and the agent."""

    name: Name
    agent: Name
    executor: str = ""


class NewRun(Struct, frozen=True, forbid_unknown_fields=True):
    """The agent that is to run, where, and under which name."""

    agent: Name
    executor: str = ""
    session: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.-]{0,48}$")] = ""


class RunSession(Struct, frozen=True):
    """The run that is meant."""

    session: str
