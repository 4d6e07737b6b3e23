"""The question who announced itself."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Struct

from toolyard.core.model import Entry, ServerId
from toolyard.core.rows import ProblemRow, problem_row
from toolyard.features.scan.announced import SOURCE, Announced, AnnouncedServer, transports_of
from toolyard.operation import NoInput, OpenObject, operation
from toolyard.yard import Yard

TEXT: Final = 2048
"""Characters of what an entry says that are shown."""
TRANSPORTS: Final = 16


class AnnouncedTransport(Struct, frozen=True):
    """One way to reach a server that announced itself."""

    type: str
    url: str = ""


class AnnouncedRow(Struct, frozen=True):
    """A server that announced itself, as it says; `status` and what follows, as the hub sees it."""

    id: str
    name: str
    file: str
    project: str
    url: str
    port: int | None
    transports: list[AnnouncedTransport]
    pid: int
    version: str
    started_at: str
    uptime_s: float | None
    heartbeat: str
    capabilities: OpenObject
    status: str
    """`waits` for one that is not offered; `problems` says why."""
    alias: str = ""
    tools: int = 0


class AnnouncedList(Struct, frozen=True):
    """The servers that announced themselves, and what is wrong with announcements."""

    servers: list[AnnouncedRow]
    problems: list[ProblemRow]


@operation("GET", "/api/v1/announced", tag="yard")
async def list_announced(yard: Yard, order: NoInput) -> AnnouncedList:
    """Who announced itself."""
    snapshot, now = yard.snapshot, time.time()
    state = snapshot.sources.get(SOURCE)
    problems = [*state.report.problems, state.problem] if state is not None else []
    rows = [
        _row(name, server, snapshot.entries.get(ServerId(name, SOURCE)), now)
        for name, server in yard.part(Announced).living.items()
    ]
    return AnnouncedList(rows, [problem_row(problem) for problem in problems if problem])


def _row(name: str, server: AnnouncedServer, entry: Entry | None, now: float) -> AnnouncedRow:
    fields = server.entry
    transports = [
        AnnouncedTransport(_text(transport, "type"), _text(transport, "url"))
        for transport in transports_of(fields)[:TRANSPORTS]
    ]
    url = next((transport.url for transport in transports if transport.url), "")
    pid, capabilities = fields.get("pid"), fields.get("capabilities")
    return AnnouncedRow(
        id=server.key[:TEXT],
        name=name,
        file=str(server.path),
        project=server.project,
        url=url,
        port=_port(url),
        transports=transports,
        pid=pid if isinstance(pid, int) else 0,
        version=_text(fields, "version"),
        started_at=_text(fields, "started_at"),
        uptime_s=_uptime(_text(fields, "started_at"), now),
        heartbeat=_text(fields, "heartbeat"),
        capabilities=capabilities if isinstance(capabilities, dict) else {},
        status=entry.status.value if entry is not None else "waits",
        alias=entry.alias if entry is not None else "",
        tools=len(entry.offers.tools) if entry is not None else 0,
    )


def _text(fields: Mapping[str, Any], key: str) -> str:
    value = fields.get(key)
    return value[:TEXT] if isinstance(value, str) else ""


def _port(url: str) -> int | None:
    try:
        return urlsplit(url).port
    except ValueError:
        return None


def _uptime(started: str, now: float) -> float | None:
    try:
        return max(0.0, round(now - datetime.fromisoformat(started).timestamp(), 1))
    except (ValueError, OverflowError):
        return None
