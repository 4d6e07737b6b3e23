"""Turns at a server whose questions do not say whom they are for.

While the calls under way belong to one client, a question can only be that client's. So calls of
different clients pass one after the other, in the order in which they came.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Final

from toolyard.core.errors import BusyError

WAITING: Final = 1024
"""Calls that may wait for their turn at one server."""
HINT: Final = 'give each session a process of its own: "mode": "per_session" on the agent\'s list'


class Turns:
    """Lets calls of one client pass together, those of the next after them."""

    def __init__(self, name: str, under_way: Iterable[object] = ()) -> None:
        """Begin with the clients whose calls are under way already, one for each call."""
        clients = list(under_way)
        self._name = name
        self._holder = clients[0] if len(set(clients)) == 1 else object()
        self._under_way = len(clients)
        self._waiting: deque[tuple[object, asyncio.Future[None]]] = deque()

    @property
    def waiting(self) -> int:
        """The number of calls that wait."""
        return len(self._waiting)

    async def take(self, client: object, seconds: float, *, ahead: bool = False) -> None:
        """Wait for a turn; `leave` ends it.

        `ahead` lets another call of the client whose turn it is pass those who wait: one that it
        needs to answer a question would otherwise wait for itself.

        Raises:
            BusyError: None came in time, or too many wait.
        """
        if not self._under_way or (client == self._holder and (ahead or not self._waiting)):
            self._enter(client)
            return
        if len(self._waiting) >= WAITING:
            raise BusyError(f"{WAITING} calls wait for their turn at {self._name!r}", HINT)
        entry = client, asyncio.get_running_loop().create_future()
        self._waiting.append(entry)
        try:
            async with asyncio.timeout(seconds):
                await entry[1]
        except BaseException as error:
            self._give_up(entry)
            if isinstance(error, TimeoutError):
                text = f"{self._name!r} asks its callers questions, so clients call it in turn"
                raise BusyError(f"{text}; no turn came within {seconds:g} s", HINT) from None
            raise

    def leave(self, _answer: object = None) -> None:
        """A call is over."""
        self._under_way -= 1
        self._admit()

    def _give_up(self, entry: tuple[object, asyncio.Future[None]]) -> None:
        """Stop waiting; a turn that came at that very moment goes to the next."""
        if entry in self._waiting:
            self._waiting.remove(entry)
            self._admit()
        elif not entry[1].cancelled():
            self.leave()

    def _admit(self) -> None:
        """Let the next client pass, with all of its calls that wait together."""
        while self._waiting:
            client, turn = self._waiting[0]
            if self._under_way and client != self._holder:
                return
            self._waiting.popleft()
            if not turn.done():
                self._enter(client)
                turn.set_result(None)

    def _enter(self, client: object) -> None:
        self._holder = client
        self._under_way += 1
