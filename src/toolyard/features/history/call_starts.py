"""The time that calls waited for their server to start, found out when they are written down.

A call is not measured for it: the keepers of links know when each server became ready, and a call
that began before and ended after that moment has waited for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from toolyard.board import Board
from toolyard.features.history.model import LoggedCall
from toolyard.links.pool import LinkPool


class CallStarts:
    """Tells how long calls waited for the start of a server that all share."""

    def __init__(self, board: Board, pool: LinkPool) -> None:
        self._board = board
        self._pool = pool

    def find(self, calls: Sequence[LoggedCall], epoch: float) -> list[float] | None:
        """Return the milliseconds of each call; None if none has waited.

        `epoch` is the time at which the clock of the calls began.
        """
        ready = self._ready_after(min(map(attrgetter("began"), calls)), epoch)
        if not ready:
            return None
        starts = [_waited(call, ready.get(call.server, 0.0)) for call in calls]
        return starts if any(starts) else None

    def _ready_after(self, first: float, epoch: float) -> dict[str, float]:
        """By alias, when servers became ready that were not so at first."""
        entries = self._board.snapshot.entries
        return {
            entries[id_].alias: keeper.since - epoch
            for id_, keeper in self._pool.keepers.items()
            if keeper.since - epoch > first and id_ in entries
        }


def _waited(call: LoggedCall, ready: float) -> float:
    is_during = call.began < ready <= call.ended
    return round((ready - call.began) * 1000, 3) if is_during else 0.0
