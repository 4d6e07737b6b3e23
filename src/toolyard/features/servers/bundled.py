"""The source of the bundled example server, offered until there is any other."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

from toolyard.board import Board
from toolyard.core.model import Command, Report, Server, ServerId, Snapshot

SOURCE: Final = "bundled"
NO_RIVALS: Final = (SOURCE, "agents")
"""Sources whose servers are no reason to go: its own, and what agents list themselves."""


def example() -> Server:
    """Give the bundled example server."""
    return Server(
        id=ServerId("example", SOURCE),
        endpoint=Command((sys.executable, "-m", "toolyard.example")),
        title="Example: time zones and units",
    )


class Bundled:
    """Offers the example as long as no other source has a server."""

    name = SOURCE

    def __init__(self, board: Board, is_complete: Callable[[Snapshot], bool]) -> None:
        """Watch a board; before a picture is complete, others may be about to report servers."""
        self._board = board
        self._is_complete = is_complete

    @property
    def report(self) -> Report:
        """The example if nobody else has a server, and nobody is waited for."""
        snapshot = self._board.snapshot
        is_alone = all(id_.source in NO_RIVALS for id_ in snapshot.entries)
        return Report(SOURCE, (example(),) if is_alone and self._is_complete(snapshot) else ())

    async def run(self, post: Callable[[Report], None]) -> None:
        """Post a report with the example or without any server, whenever that changes."""
        posted: Report | None = None
        revision = -1
        while True:
            snapshot = await self._board.wait_after(revision)
            revision = snapshot.revision
            report = self.report
            if self._is_complete(snapshot) and report != posted:
                posted = report
                post(report)
