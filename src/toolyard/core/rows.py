"""Servers and problems as every door shows them."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

import msgspec

from toolyard.core.appstatus import AppStatus
from toolyard.core.model import Held, Kind, Problem

Transport = Literal["stdio", "http", "sse"]


class ProblemRow(msgspec.Struct, frozen=True):
    """Trouble a person should know of."""

    code: str
    text: str
    hint: str
    subject: str


def problem_row(problem: Problem) -> ProblemRow:
    """Return a problem as doors show it."""
    return ProblemRow(problem.code, problem.text, problem.hint, problem.subject)


class HeldPart(msgspec.Struct, frozen=True):
    """Something of a server that waits for approval."""

    kind: Kind
    name: str
    """Its key: a name, a URI, a template; empty for the instructions."""


def held_also(held: Held) -> list[HeldPart]:
    """Return all that waits and is no tool."""
    return [HeldPart(*part) for part in sorted(held.parts) if part[0] != "tools"]


class ServerState(StrEnum):
    """The one word for the state of a server, at every door."""

    KNOWN = "known"
    """Not started yet."""
    STARTING = "starting"
    INSTALLING = "installing"
    """Its launcher fetches its package first."""
    READY = "ready"
    IDLE = "idle"
    """Stopped because nobody needed it; the next call starts it again."""
    FAILING = "failing"
    WAITING = "waiting"
    """For you: to approve a change, or to log in."""
    DISABLED = "disabled"


class ServerRow(msgspec.Struct, frozen=True):
    """One server, in short."""

    name: str
    source: str
    alias: str
    title: str
    project: str
    """The folder of the project whose clients alone it is offered to; empty for everybody."""
    enabled: bool
    state: ServerState
    status: str
    """The state of its connection alone."""
    starting_since: float | None
    """When it began to start, in seconds since the epoch, if it is starting or installing."""
    transport: Transport
    tools: int
    prompts: int
    resources: int
    era: str | None
    protocol: str | None
    server_version: str | None
    restarts: int
    pid: int
    problem: ProblemRow | None
    held: list[str]
    """The tools that wait for approval."""
    held_also: list[HeldPart]
    """All else that does."""
    asks: list[str]
    """What follows from the questions it was seen to ask, in sentences."""


class InstalledVersion(msgspec.Struct, frozen=True):
    """The package that is started in place of a server's launcher."""

    package: str
    version: str
    program: str


class YardStatus(msgspec.Struct, frozen=True):
    """The whole yard; the revision is that of the picture, and the ETag."""

    version: str
    url: str
    pid: int
    uptime_s: float
    revision: int
    servers: list[ServerRow]
    problems: list[ProblemRow]
    apps: list[AppStatus]
