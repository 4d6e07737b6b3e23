"""Counts of calls since the hub started: cheap to keep, kept even without a history."""

from __future__ import annotations

from bisect import bisect_left
from typing import Final

from toolyard.core.history import Outcome

BOUNDS_MS: Final = (1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000)
"""Upper bounds of the classes of durations; what takes longer is in the last one."""


class Counts:
    """How the calls of one server ended, and how long they took, by class."""

    __slots__ = ("classes", "outcomes", "total_ms")

    def __init__(self) -> None:
        self.outcomes = dict.fromkeys(map(str, Outcome), 0)
        self.classes = [0] * (len(BOUNDS_MS) + 1)
        self.total_ms = 0.0


class Tally:
    """Counts by server; one thread adds, any may look."""

    def __init__(self) -> None:
        self.servers: dict[str, Counts] = {}

    def add(self, server: str, outcome: str, ms: float) -> None:
        """Count one call."""
        counts = self.servers.get(server)
        if counts is None:
            counts = self.servers[server] = Counts()
        counts.outcomes[outcome] += 1
        counts.classes[bisect_left(BOUNDS_MS, ms)] += 1
        counts.total_ms += ms
