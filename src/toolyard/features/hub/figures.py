"""Every server in numbers: the calls of the last hour by minute, memory, what its schemas cost."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from toolyard.core.model import Entry
from toolyard.core.parts import schema_tokens
from toolyard.features.history.call_log import CallLog
from toolyard.features.history.model import Call as Recorded
from toolyard.features.history.model import Outcome, percentile
from toolyard.features.history.search import Search
from toolyard.features.history.store import History
from toolyard.links.pool import LinkPool
from toolyard.yard import Yard

MINUTES: Final = 60
MOST: Final = 50_000
"""Calls that are counted; of more than that, the newest."""


class ServerFigures(msgspec.Struct, frozen=True):
    """The numbers of one server; those of calls are of the last hour."""

    server: str
    minutes: list[int]
    """Calls in each of the last 60 minutes, the newest last."""
    calls: int
    errors: int
    p95_ms: float
    memory_bytes: int | None
    """The memory of its process; null if it has none here, or the system does not say."""
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
    p95_ms: float
    """Of all calls of the last hour."""
    servers: list[ServerFigures]


async def make_figures(yard: Yard, now: datetime) -> Figures:
    """Return every server in numbers, as they are now."""
    log = yard.part(CallLog)
    log.flush()
    passed, is_kept = log.passed, log.rows is not None
    recent = Search(since=now.timestamp() - MINUTES * 60, limit=MOST)
    calls = (await yard.part(History).search(recent)).calls if is_kept else []
    by_server: dict[str, list[Recorded]] = {}
    for call in calls:
        by_server.setdefault(call.server, []).append(call)
    pool = yard.part(LinkPool)
    rows = [
        _row(entry, pool, by_server.get(entry.alias, []), now)
        for entry in yard.snapshot.entries.values()
    ]
    p95 = percentile(sorted(call.ms for call in calls), 95)
    return Figures(now, passed, is_kept, p95, rows)


def _row(entry: Entry, pool: LinkPool, calls: list[Recorded], now: datetime) -> ServerFigures:
    keeper = pool.keepers.get(entry.server.id)
    pid = keeper.link.pid if keeper is not None and keeper.link is not None else 0
    elsewhere = None if keeper is None else pool.budget.weight(keeper)
    failed = (Outcome.ERROR, Outcome.TOOL_ERROR)
    return ServerFigures(
        server=entry.alias,
        minutes=by_minute(calls, now),
        calls=len(calls),
        errors=sum(call.outcome in failed for call in calls),
        p95_ms=percentile(sorted(call.ms for call in calls), 95),
        memory_bytes=resident(pid) if pid else elsewhere,
        schema_tokens=schema_tokens([offer.raw for offer in entry.offers.tools]),
        agents=dict(Counter(call.agent for call in calls)),
    )


def by_minute(calls: Iterable[Recorded], now: datetime) -> list[int]:
    """Return the number of calls that began in each of the last minutes, the newest last."""
    counts = [0] * MINUTES
    for call in calls:
        ago = int((now - call.at).total_seconds() // 60)
        if 0 <= ago < MINUTES:
            counts[MINUTES - 1 - ago] += 1
    return counts


def resident(pid: int) -> int | None:
    """Return the bytes of memory a process holds, where the system tells in a file."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
