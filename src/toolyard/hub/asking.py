"""Remembers which servers ask their callers without saying whom.

It is known at once in this hub, and kept for the next one with what else was found out about
sharing processes.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from toolyard.board import Board
from toolyard.core.errors import StoreError
from toolyard.core.model import Server
from toolyard.core.pins import launch_hash
from toolyard.core.roster import asking_of
from toolyard.core.sharing import Asking
from toolyard.stores.sharing import SharingStore
from toolyard.wire.tasks import Tasks

log = logging.getLogger(__name__)

WRITTEN_SECONDS: Final = 2.0


class AskingServers:
    """Takes note of questions, and tells what is known of a server."""

    def __init__(self, board: Board, store: SharingStore) -> None:
        self._board = board
        self._store = store
        self._noted: dict[str, Asking] = {}
        """What was seen since the start, by `name@source`."""
        self._tasks = Tasks()

    def of(self, server: Server) -> Asking | None:
        """What a server was seen to ask, started as it is now."""
        server = self._declared(server)
        noted = self._noted.get(str(server.id))
        if noted is not None and noted.launch == launch_hash(server.endpoint):
            return noted
        return asking_of(self._board.snapshot.roster, server)

    def note(self, server: Server, question: str) -> None:
        """A server sent a question that names no call; without one, it asked for folders."""
        known = self.of(server)
        if known is not None and (known.question if question else known.roots):
            return
        launch = launch_hash(self._declared(server).endpoint)
        asking = Asking(launch, question, not question).also(known)
        self._noted[str(server.id)] = asking
        self._tasks.start(self._keep(str(server.id), asking))

    def _declared(self, server: Server) -> Server:
        """The picture's server: an instance of it may be started with other variables."""
        entry = self._board.snapshot.entries.get(server.id)
        return entry.server if entry is not None else server

    async def _keep(self, server: str, asking: Asking) -> None:
        try:
            await asyncio.to_thread(self._store.put_asking, server, asking)
        except StoreError as error:
            log.warning(
                "what a server asks is not kept", extra={"server": server, "why": str(error)}
            )

    async def close(self) -> None:
        """Wait for what is being written."""
        await self._tasks.settle(WRITTEN_SECONDS)
        await self._tasks.close()
