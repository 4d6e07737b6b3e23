"""Counts of calls since the hub started: cheap to keep, kept even without a history."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from functools import partial
from operator import itemgetter, sub
from typing import Final

from toolyard.core.history import Outcome
from toolyard.stores.taken import PLAIN, Taken

BOUNDS: Final = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
)
"""Upper bounds, in seconds, of the classes of durations; what takes longer is in the last one."""
_class: Final = partial(bisect_left, BOUNDS)
_server_of: Final = itemgetter(1)
_began: Final = itemgetter(3)
_ended: Final = itemgetter(4)


class Counts:
    """How the calls of one server ended, and how long they took, by class."""

    __slots__ = ("classes", "outcomes", "seconds")

    def __init__(self) -> None:
        self.outcomes = dict.fromkeys(map(str, Outcome), 0)
        self.classes = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0


class Tally:
    """Counts by server, as calls looked when they ended."""

    def __init__(self) -> None:
        self.servers: dict[str, Counts] = {}

    def add(self, calls: Sequence[Taken], odd: bool) -> None:
        """Count calls; `odd` if some did not end well.

        The loops over all of them are not of Python's own, which would cost several times as much.
        """
        servers = list(map(_server_of, calls))
        times = list(map(sub, map(_ended, calls), map(_began, calls)))
        classes = Counter(zip(servers, map(_class, times), strict=True))
        for (server, class_), number in classes.items():
            self._of(server).classes[class_] += number
        fine = Counter(servers)
        if len(fine) == 1:
            self._of(servers[0]).seconds += sum(times)
        else:
            for server, seconds in zip(servers, times, strict=True):
                self._of(server).seconds += seconds
        for call in calls if odd else ():
            if len(call) > PLAIN:
                fine[call[1]] -= 1
                self._of(call[1]).outcomes[call[PLAIN]] += 1
        for server, number in fine.items():
            self._of(server).outcomes[Outcome.OK] += number

    def _of(self, server: str) -> Counts:
        counts = self.servers.get(server)
        if counts is None:
            counts = self.servers[server] = Counts()
        return counts
