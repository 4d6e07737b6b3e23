"""Remembers which servers ask their callers without saying whom.

It is known at once in this hub, and kept for the next one with what else was found out about
sharing processes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

from toolyard.board import Board
from toolyard.core.endpoint import fingerprint
from toolyard.core.errors import StoreError
from toolyard.core.model import Server, ServerId
from toolyard.core.roster import asking_of
from toolyard.core.sharing import Asking
from toolyard.features.sharing.store import SharingStore
from toolyard.links.link import Link, RequestRefusedError
from toolyard.links.owner import Owner
from toolyard.links.pending import Requester
from toolyard.tasks import Tasks

log = logging.getLogger(__name__)

WRITTEN_SECONDS: Final = 2.0
FOLDERS_SECONDS: Final = 2.0
"""The time for a server that asks for folders to ask, to be answered, and to read the answer."""
FOLDERS_TURNS: Final = 5
FOLDERS_TURN_SECONDS: Final = 0.01
"""Reading them takes a server a few turns of its loop, and a moment for each."""


class FolderOwners(Protocol):
    """Knows who is attached, for servers that ask for folders."""

    def only(self, server: ServerId) -> object | None:
        """The one client that is attached, if it has folders and shares the server."""
        ...

    def asked(self, server: ServerId, requesters: list[Requester]) -> Requester | None:
        """The client that answers for the folders of a shared server, if there is no doubt."""
        ...


class AskingServers:
    """Takes note of questions, and tells which of them a server asks."""

    def __init__(
        self, board: Board, store: SharingStore, folders: Callable[[], FolderOwners]
    ) -> None:
        self._board = board
        self._store = store
        self._folders = folders
        self._noted: dict[str, Asking] = {}
        """The questions since the start, by `name@source`."""
        self._tasks = Tasks()

    def asked(
        self,
        server: Server,
        is_shared: bool,
        method: str,
        outside: bool,
        requesters: list[Requester],
    ) -> Requester | None:
        """Take note that a server asked without saying whom; return who answers if no call can."""
        self.note(server, "" if outside else method)
        return self._folders().asked(server.id, requesters) if outside and is_shared else None

    async def prepare(self, link: Link, server: Server, owner: Owner) -> None:
        """Ready a link for the questions that its server is known to ask."""
        asking = self.of(server)
        if asking is None or link.is_modern:
            return
        if asking.question:
            link.take_turns()
        if not asking.roots:
            return
        link.keeps_folders = True
        if "roots" in (owner.capabilities or {}) or self._folders().only(server.id):
            await _let_read_folders(link)

    def of(self, server: Server) -> Asking | None:
        """Return the questions that a server asks, started as it is now."""
        server = self._declared(server)
        noted = self._noted.get(str(server.id))
        if noted is not None and noted.launch == fingerprint(server.endpoint):
            return noted
        return asking_of(self._board.snapshot.roster, server)

    def note(self, server: Server, question: str) -> None:
        """Take note of a question that names no call; without one, a server asked for folders."""
        before = self.of(server)
        if before is not None and (before.question if question else before.roots):
            return
        launch = fingerprint(self._declared(server).endpoint)
        asking = Asking(launch, question, not question).also(before)
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


async def _let_read_folders(link: Link) -> None:
    """Let a server that asks for folders have them, and read them, before it is called.

    Nothing tells when it has read them, and it serves calls meanwhile. So it is pinged: each answer
    shows that it had another turn, however slow the machine is just now.
    """
    with suppress(TimeoutError):
        async with asyncio.timeout(FOLDERS_SECONDS):
            await link.questions.heard_outside.wait()
            for _ in range(FOLDERS_TURNS):
                await asyncio.sleep(FOLDERS_TURN_SECONDS)
                with suppress(RequestRefusedError):  # which is an answer, too
                    await link.ask("ping")
