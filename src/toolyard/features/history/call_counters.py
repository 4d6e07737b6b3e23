"""Counters of calls since the hub started; they work without a history, too."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from toolyard.features.history.model import LoggedCall, Outcome

BOUNDS: Final = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
)
"""Upper bounds, in seconds, of the classes of durations; what takes longer is in the last one."""


class ServerCounters:
    """The calls of one server by outcome and by duration."""

    __slots__ = ("classes", "outcomes", "seconds")

    def __init__(self) -> None:
        self.outcomes = dict.fromkeys(map(str, Outcome), 0)
        self.classes = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0


class CallCounters:
    """The counters of all servers, by alias."""

    def __init__(self) -> None:
        self.servers: defaultdict[str, ServerCounters] = defaultdict(ServerCounters)

    def add(self, calls: Iterable[LoggedCall]) -> None:
        """Count calls that are over."""
        for call in calls:
            counters = self.servers[call.server]
            seconds = call.ended - call.began
            counters.outcomes[call.outcome] += 1
            counters.classes[bisect_left(BOUNDS, seconds)] += 1
            counters.seconds += seconds
