"""What the control API answers about servers, apps and problems, as types."""

from __future__ import annotations

from typing import Any

import msgspec

from toolyard.core.model import Held, Kind


class ProblemRow(msgspec.Struct):
    """Trouble a person should know of."""

    code: str
    text: str
    hint: str
    subject: str


class ServerRow(msgspec.Struct):
    """One server, in short."""

    name: str
    source: str
    alias: str
    title: str
    project: str
    """The folder of the project whose clients alone it is offered to; empty for everybody."""
    enabled: bool
    status: str
    transport: str
    tools: int
    prompts: int
    resources: int
    era: str | None
    protocol: str | None
    server_version: str | None
    restarts: int
    pid: int
    problem: ProblemRow | None


class HeldPart(msgspec.Struct):
    """Something of a server that waits for approval."""

    kind: Kind
    name: str
    """Its key: a name, a URI, a template; empty for the instructions."""


def held_also(held: Held) -> list[HeldPart]:
    """All that waits and is no tool."""
    return [HeldPart(*part) for part in sorted(held.parts) if part[0] != "tools"]


class OfferNames(msgspec.Struct):
    """What a server offers, by its own names."""

    tools: list[str]
    prompts: list[str]
    resources: list[str]
    templates: list[str]


class ListedBy(msgspec.Struct):
    """An agent on whose list a server is."""

    id: str
    title: str
    enabled: bool
    """Whether the agent is given its servers."""


class ServerDetails(ServerRow):
    """One server, with how it is started and all it offers."""

    launch: dict[str, Any]
    """As declared."""
    installed: dict[str, str] | None
    """What is started in place of its launcher, if anything: package, version, program."""
    timeout_s: float | None
    held: list[str]
    """The tools that wait for approval."""
    held_also: list[HeldPart]
    """All else that does."""
    instructions: str
    agents: list[ListedBy]
    offers: OfferNames


class ServerList(msgspec.Struct):
    """Every server; the revision is that of the picture, and the ETag."""

    revision: int
    servers: list[ServerRow]


class ProblemList(msgspec.Struct):
    """All trouble on the picture."""

    revision: int
    problems: list[ProblemRow]
