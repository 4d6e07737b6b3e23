"""The values a hub answers with: the yard, its servers and their problems."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from toolyard.core.appstatus import AppStatus
from toolyard.core.model import Command, Endpoint, Held, Kind, Offers, Problem
from toolyard.stores.plain_secrets import without_passwords

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


class ServerRow(msgspec.Struct, frozen=True):
    """One server, in short."""

    name: str
    source: str
    alias: str
    title: str
    project: str
    """The folder of the project whose clients alone it is offered to; empty for everybody."""
    enabled: bool
    status: str
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


class LaunchRow(msgspec.Struct, frozen=True):
    """A server's command or address as declared; of variables and headers the names alone."""

    command: list[str] | UnsetType = UNSET
    cwd: str | UnsetType | None = UNSET
    env: list[str] | UnsetType = UNSET
    url: str | UnsetType = UNSET
    headers: list[str] | UnsetType = UNSET


def launch_row(endpoint: Endpoint) -> LaunchRow:
    """Return how a server is started or reached, without secrets."""
    endpoint = without_passwords(endpoint)
    if isinstance(endpoint, Command):
        names = [name for name, _ in endpoint.env]
        return LaunchRow(command=list(endpoint.argv), cwd=endpoint.cwd, env=names)
    return LaunchRow(url=endpoint.url, headers=[name for name, _ in endpoint.headers])


class OfferNames(msgspec.Struct, frozen=True):
    """All that a server offers, by its own names."""

    tools: list[str]
    prompts: list[str]
    resources: list[str]
    templates: list[str]


def offer_names(offers: Offers) -> OfferNames:
    """Return the names of all that is offered."""
    kinds = (offers.tools, offers.prompts, offers.resources, offers.templates)
    return OfferNames(*([offer.key for offer in kind] for kind in kinds))


class ListedBy(msgspec.Struct, frozen=True):
    """An agent on whose list a server is."""

    id: str
    title: str
    enabled: bool
    """Whether the agent is given its servers."""


class InstalledVersion(msgspec.Struct, frozen=True):
    """The package that is started in place of a server's launcher."""

    package: str
    version: str
    program: str


class ServerDetails(ServerRow, frozen=True):
    """One server, with how it is started and all it offers."""

    launch: LaunchRow
    installed: InstalledVersion | None
    timeout_s: float | None
    instructions: str
    agents: list[ListedBy]
    profiles: list[str]
    """The profiles with variables of their own, whose clients get a process of their own."""
    offers: OfferNames


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
