"""Holds the current picture, folds events into it, wakes those who wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from toolyard.core.fold import fold
from toolyard.core.model import Event, Snapshot


class Board:
    """The one mutable cell of the house.

    One thread, one writer: `post` never awaits, so no reader can see half a
    change and no lock is needed.
    """

    def __init__(self) -> None:
        self._snapshot = Snapshot()
        self._changed = asyncio.Event()

    @property
    def snapshot(self) -> Snapshot:
        """The picture, now."""
        return self._snapshot

    def post(self, event: Event) -> None:
        """Fold `event` into the picture."""
        after = fold(self._snapshot, event)
        if after is self._snapshot:
            return
        self._snapshot = after
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait_after(self, revision: int) -> Snapshot:
        """Wait for a picture newer than `revision`; return the latest one."""
        while self._snapshot.revision <= revision:
            await self._changed.wait()
        return self._snapshot

    async def wait_until(self, holds: Callable[[Snapshot], bool], seconds: float) -> bool:
        """Wait until a picture holds; return False if none did in time."""
        try:
            async with asyncio.timeout(seconds):
                while not holds(self._snapshot):
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True
