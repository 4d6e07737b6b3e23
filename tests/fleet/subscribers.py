"""Clients that follow a resource: they change it, and hear of every change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.doors.doors import Json
from tests.fleet.load import PATIENCE, Caller, FailedCallError

UPDATED = "notifications/resources/updated"
ASK_AGAIN = 0.5
"""Seconds until a client that has just come changes its resource once more."""


class Subscriber:
    """A client of either era that follows a resource of a server.

    Its stream ends when the replica does that has it; then it opens another. While a stream is
    open, no change is missed, once the first was heard: a replica that did not know the client
    learns within seconds what it follows.
    """

    def __init__(self, caller: Caller, server: str) -> None:
        self.outcomes = caller.outcomes
        self._caller = caller
        self._server = server
        self._uri = f"note://{server}/{caller.name}"
        self._updates = 0
        self._is_open = False
        self._news = asyncio.Event()

    async def run(self, stop: asyncio.Event) -> None:
        """Follow, until told to stop."""
        while not stop.is_set():
            try:
                async with self._following():
                    await self._change(ASK_AGAIN)
                    while self._is_open and not stop.is_set():
                        await self._change(PATIENCE)
            except (OSError, EOFError, TimeoutError, FailedCallError) as error:
                why = f"follow {self._server}: {type(error).__name__} {error}"
                self.outcomes.failed[why] += 1
        await self._caller.close()

    @asynccontextmanager
    async def _following(self) -> AsyncIterator[None]:
        """Hold a stream, and take in what is said there."""
        async with self._caller.following(self._uri) as stream, asyncio.TaskGroup() as group:
            self._is_open = True
            reading = group.create_task(self._read(stream))
            try:
                yield
            finally:
                reading.cancel()

    async def _read(self, stream: AsyncIterator[Json]) -> None:
        try:
            async for note in stream:
                self._updates += note.get("method") == UPDATED
                self._news.set()
        except (OSError, EOFError) as error:
            self.outcomes.failed[f"stream of {self._server}: {type(error).__name__}"] += 1
        finally:
            self._is_open = False
            self._news.set()

    async def _change(self, seconds: float) -> None:
        """Change the resource until that is heard of; ask again after so many seconds."""
        before = self._updates
        async with asyncio.timeout(PATIENCE):
            while self._is_open and self._updates == before:
                self._news.clear()
                await self._caller.call(f"{self._server}__touch", {"uri": self._uri})
                await self._hear(before, seconds)
        self.outcomes.answered["update"] += self._updates > before

    async def _hear(self, before: int, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                while self._is_open and self._updates == before:
                    await self._news.wait()
                    self._news.clear()
        except TimeoutError:
            if seconds == PATIENCE:
                raise
