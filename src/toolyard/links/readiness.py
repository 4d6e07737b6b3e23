"""Tells when lists are complete: every source has reported, every server has been tried."""

from __future__ import annotations

from toolyard.board import Board
from toolyard.core.model import NO_OFFERS, Snapshot, Status


class Readiness:
    """The way of the picture from empty to complete."""

    def __init__(self, board: Board, expected: frozenset[str]) -> None:
        """Follow a board; `expected` are the sources that have servers from the start."""
        self._board = board
        self._expected = expected

    def is_complete(self, snapshot: Snapshot) -> bool:
        """Return whether all sources that have servers from the start have reported."""
        return self._expected <= snapshot.sources.keys()

    def is_settled(self) -> bool:
        """Return whether every server in use was tried: its offers are known, or its problem is."""
        snapshot = self._board.snapshot
        waiting = (Status.KNOWN, Status.STARTING, Status.INSTALLING)
        return (
            bool(snapshot.sources)
            and self.is_complete(snapshot)
            and not any(
                entry.status in waiting and entry.offers == NO_OFFERS
                for entry in snapshot.entries.values()
                if entry.server.enabled and entry.server.problem is None
            )
        )

    async def wait_settled(self) -> None:
        """Wait until every server in use has been tried."""
        while not self.is_settled():
            await self._board.wait_after(self._board.snapshot.revision)
