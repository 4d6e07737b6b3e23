"""Every server in numbers: the calls of the last hour by minute, memory, what its schemas cost."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Raw

from toolyard.core.parts import schema_tokens
from toolyard.core.rows import HeldPart, held_also
from toolyard.features.history.model import Call as Recorded
from toolyard.features.history.model import Outcome, percentile
from toolyard.features.history.store import History, Search
from toolyard.hub import Hub
from toolyard.links.keeper import Keeper
from toolyard.surfaces.control.api import Call, Operation

MINUTES: Final = 60
MOST: Final = 50_000
"""Calls that are counted; of more than that, the newest."""


OwnWords = Annotated[Raw, Meta(description="An offer in the server's own words.")]


class ServerFigures(msgspec.Struct, frozen=True):
    """The numbers of one server; those of calls are of the last hour."""

    server: str
    minutes: list[int]
    """Calls in each of the last 60 minutes, the newest last."""
    calls: int
    errors: int
    p95_ms: float
    memory_bytes: int | None
    """What its process holds; null if it has none here, or the system does not say."""
    schema_tokens: int
    """About how many tokens of a model's context the descriptions of its tools take."""
    agents: dict[str, int]
    """How many of the calls each agent made."""


class Figures(msgspec.Struct, frozen=True):
    """Every server in numbers."""

    at: datetime
    passed: int
    """How many calls were over since the hub began: events tell of those that follow."""
    has_history: bool
    servers: list[ServerFigures]


class Offered(msgspec.Struct, frozen=True):
    """All a server offers, in its own words; what waits for approval too."""

    server: str
    held: list[str]
    """The tools that wait."""
    held_also: list[HeldPart]
    """All else that waits."""
    tools: list[OwnWords]
    prompts: list[OwnWords]
    resources: list[OwnWords]
    templates: list[OwnWords]


class FiguresDoor:
    """Questions whose answers are numbers, and what they were counted from."""

    def __init__(self, hub: Hub, history: History) -> None:
        self._hub = hub
        self._history = history

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        offers = "/api/v1/servers/{alias}/offers"
        text = "All it offers, in its own words"
        return [
            Operation("GET", "/api/v1/figures", "Servers in numbers", self._figures, Figures),
            Operation("GET", offers, text, self._offers, Offered, tag="servers"),
        ]

    async def _figures(self, call: Call) -> Figures:
        log = self._history.log
        log.flush()
        now, passed, is_kept = datetime.now(UTC), log.passed, log.database is not None
        recent = Search(since=now.timestamp() - MINUTES * 60, limit=MOST)
        calls = await self._history.search(recent) if is_kept else []
        by_server: dict[str, list[Recorded]] = {}
        for each in calls:
            by_server.setdefault(each.server, []).append(each)
        rows = [
            self._row(entry.alias, by_server.get(entry.alias, []), now)
            for entry in self._hub.snapshot.entries.values()
        ]
        return Figures(now, passed, is_kept, rows)

    def _row(self, alias: str, calls: list[Recorded], now: datetime) -> ServerFigures:
        entry = self._hub.entry(alias)
        keeper = self._hub.pool.keepers.get(entry.server.id)
        pid = keeper.link.pid if keeper is not None and keeper.link is not None else 0
        failed = (Outcome.ERROR, Outcome.TOOL_ERROR)
        return ServerFigures(
            server=alias,
            minutes=by_minute(calls, now),
            calls=len(calls),
            errors=sum(each.outcome in failed for each in calls),
            p95_ms=percentile(sorted(each.ms for each in calls), 95),
            memory_bytes=resident(pid) if pid else self._elsewhere(keeper),
            schema_tokens=schema_tokens([offer.raw for offer in entry.offers.tools]),
            agents=dict(Counter(each.agent for each in calls)),
        )

    def _elsewhere(self, keeper: Keeper | None) -> int | None:
        return None if keeper is None else self._hub.pool.budget.weight(keeper)

    async def _offers(self, call: Call) -> Offered:
        entry = self._hub.entry(call.path["alias"])
        kinds = entry.offers
        lists = (kinds.tools, kinds.prompts, kinds.resources, kinds.templates)
        raws = ([Raw(offer.raw) for offer in offers] for offers in lists)
        return Offered(entry.alias, sorted(entry.held.tools), held_also(entry.held), *raws)


def by_minute(calls: Iterable[Recorded], now: datetime) -> list[int]:
    """How many calls began in each of the last minutes, the newest last."""
    counts = [0] * MINUTES
    for each in calls:
        ago = int((now - each.at).total_seconds() // 60)
        if 0 <= ago < MINUTES:
            counts[MINUTES - 1 - ago] += 1
    return counts


def resident(pid: int) -> int | None:
    """The bytes of memory a process holds, where the system tells in a file."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
