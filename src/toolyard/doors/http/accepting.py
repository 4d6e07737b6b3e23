"""Takes connections from a listening socket, and says so when the system gives no more.

An event loop's own server drops them without a word then, or tries again as fast as it can.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from math import inf
from typing import Final

from toolyard.doors.http.tls import TlsFiles
from toolyard.tasks import Tasks

log = logging.getLogger(__name__)

WAITING: Final = 1024
"""Connections that the system keeps for us until they are taken."""
AT_ONCE: Final = 64
"""Taken before those that are open get their turn again."""
ATTACH_SECONDS: Final = 1.0
"""The time in which those taken last are attached."""
HANDSHAKE_SECONDS: Final = 10.0
FAREWELL_SECONDS: Final = 1.0
"""The time in which a client confirms that an encrypted connection ends."""
HANDSHAKES: Final = 256
"""Those under way at a time; for a new one the oldest ends."""
PAUSE_SECONDS: Final = 1.0
LOG_SECONDS: Final = 60.0
"""The time after which the same trouble is worth another line."""


class Acceptor:
    """Makes a protocol for each connection, until it is closed."""

    def __init__(
        self,
        sock: socket.socket,
        make: Callable[[], asyncio.Protocol],
        make_room: Callable[[], bool],
        tls: TlsFiles | None = None,
    ) -> None:
        """Take the connections of a listening socket.

        Args:
            make_room: Called when there is no descriptor left; whether it has given some back.
            tls: Encrypts what is taken.
        """
        self._tls = tls
        self._attaching: dict[asyncio.Task[None], None] = {}
        self._sock = sock
        self._make = make
        self._make_room = make_room
        self._tasks = Tasks()
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._logged = -inf
        self._watch()

    async def close(self) -> None:
        """Take those who have connected already, and no more."""
        for _ in range(WAITING // AT_ONCE):
            if not self._take():
                break
        self._loop.remove_reader(self._sock)
        if self._timer is not None:
            self._timer.cancel()
        self._sock.close()
        await self._tasks.settle(ATTACH_SECONDS)
        await self._tasks.close()

    def _watch(self) -> None:
        self._loop.add_reader(self._sock, self._take)

    def _take(self) -> bool:
        """Take some of those who wait; whether there may be more."""
        for _ in range(AT_ONCE):
            try:
                taken, _ = self._sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return False
            except OSError as error:
                self._pause(error)
                return False
            self._begin(taken)
        return True

    def _begin(self, taken: socket.socket) -> None:
        task = self._tasks.start(self._attach(taken))
        if task is None or self._tls is None:
            return
        self._attaching[task] = None
        task.add_done_callback(lambda task: self._attaching.pop(task, None))
        if len(self._attaching) > HANDSHAKES:
            next(iter(self._attaching)).cancel()

    async def _attach(self, taken: socket.socket) -> None:
        try:
            taken.setblocking(False)
            if self._tls is None:
                await self._loop.connect_accepted_socket(self._make, taken)
            else:
                await self._loop.connect_accepted_socket(
                    self._make,
                    taken,
                    ssl=self._tls.context,
                    ssl_handshake_timeout=HANDSHAKE_SECONDS,
                    ssl_shutdown_timeout=FAREWELL_SECONDS,
                )
        except OSError:  # it has left already
            taken.close()

    def _pause(self, error: OSError) -> None:
        """Wait for a descriptor; whoever has connected meanwhile waits too, and is not lost."""
        self._loop.remove_reader(self._sock)
        seconds = 0.0 if self._make_room() else PAUSE_SECONDS
        self._timer = self._loop.call_later(seconds, self._watch)
        if self._loop.time() - self._logged > LOG_SECONDS:
            self._logged = self._loop.time()
            text = "new connections have to wait (%s); raise the limit of open files (ulimit -n)"
            log.warning(text, error.strerror or error)
