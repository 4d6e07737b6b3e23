"""Holds the current picture, folds events into it, wakes those who wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from toolyard.core.fold import fold
from toolyard.core.model import Event, Snapshot

NOTICE_SECONDS: Final = 3.0
"""How long an order waits until the picture shows it; sources notice within one second."""

Stage = Callable[[Snapshot, Event], Event]
"""Returns an event as it is to be folded in: completed, or judged. It never awaits."""


class Board:
    """The one mutable cell of the house.

    One thread, one writer: `post` is the only way in and never awaits, so no
    reader can see half a change and no lock is needed.
    """

    def __init__(self, stages: Sequence[Stage] = ()) -> None:
        """Begin with an empty picture; every event passes the stages, in this order."""
        self._stages = tuple(stages)
        self.snapshot = Snapshot()
        """The picture, now; `post` alone replaces it."""
        self._changed = asyncio.Event()

    def post(self, event: Event) -> None:
        """Take `event` through the stages, and fold what comes out into the picture."""
        for stage in self._stages:
            event = stage(self.snapshot, event)
        after = fold(self.snapshot, event)
        if after is self.snapshot:
            return
        self.snapshot = after
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait_after(self, revision: int) -> Snapshot:
        """Wait for a picture newer than `revision`; return the latest one."""
        while self.snapshot.revision <= revision:
            await self._changed.wait()
        return self.snapshot

    async def wait_until(
        self, holds: Callable[[Snapshot], bool], seconds: float = NOTICE_SECONDS
    ) -> bool:
        """Wait until something holds of the picture; return False if time is up before it does."""
        try:
            async with asyncio.timeout(seconds):
                while not holds(self.snapshot):
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True
