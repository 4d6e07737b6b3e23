"""The hub's socket: clients on lines, whom only this user can be."""

from __future__ import annotations

import asyncio
import logging
import os
import select
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, cast

from toolyard.doors.http.unread import UNREAD_BYTES, Unread
from toolyard.doors.stdio.lines import LineClient
from toolyard.doors.stdio.wishes import NO_WISHES, read_wishes
from toolyard.links.projects import ProjectFolders
from toolyard.links.readiness import Readiness
from toolyard.relay.relay import Relay
from toolyard.tasks import Tasks
from toolyard.wire import jsonrpc

log = logging.getLogger(__name__)

FAREWELL_SECONDS: Final = 10.0
"""The time that answers may take for a client that asks nothing more."""
LOOK_SECONDS: Final = 0.1
"""The pause between two looks at whether it still waits for them."""
DRAIN_SECONDS: Final = 8.0
"""The time that requests under way may still take when the hub stops."""
HOLD_SECONDS: Final = 2.0
"""The time that the stdio entry has to hold requests back; one that is stopped never does."""
RETURN_SECONDS: Final = 3.0
"""The time that a client of the hub before waits until this one knows its servers."""
_LEAVING: Final = {True: "restart", False: "stop"}


class SocketClient(asyncio.Protocol):
    """A client attached to the hub's socket; its first line says who it is."""

    def __init__(
        self,
        relay: Relay,
        projects: ProjectFolders,
        readiness: Readiness,
        limit: int,
        tasks: Tasks,
        attached: set[SocketClient],
        unread: Unread,
    ) -> None:
        self._relay = relay
        self._projects = projects
        self._readiness = readiness
        self._limit = limit
        self._all_unread = unread
        self._is_behind = False
        self._tasks = tasks
        self._attached = attached
        self._head = b""
        self._client: LineClient | None = None
        self._wishes = NO_WISHES
        self._held_by = 0.0
        """When it must have held its requests back, if it is to."""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first line."""
        self._transport = cast("asyncio.Transport", transport)
        self._attached.add(self)

    def data_received(self, data: bytes) -> None:
        """Take the first line apart, and everything after it as messages."""
        if self._client is not None:
            self._client.feed(data)
            return
        self._head += data
        line, end, rest = self._head.partition(b"\n")
        if not end:
            if len(self._head) > self._limit:
                self._transport.abort()
            return
        wishes = read_wishes(line)
        first, self._head = self._head if wishes is None else rest, b""
        self._wishes = wishes or NO_WISHES
        self._projects.enter(self._wishes.cwd)
        self._client = LineClient(self._relay, self._write, self._limit, self._wishes)
        if self._wishes.again:
            self._transport.pause_reading()
            self._tasks.start(self._admit(self._client, first))
        else:
            self._client.feed(first)

    async def _admit(self, client: LineClient, first: bytes) -> None:
        """Let a client in that comes from the hub before: it counts on what that one offered."""
        with suppress(TimeoutError):
            async with asyncio.timeout(RETURN_SECONDS):
                await self._projects.wait_looked()
                await self._readiness.wait_settled()
        if not self._transport.is_closing():
            client.feed(first)
            self._transport.resume_reading()

    def eof_received(self) -> bool:
        """The client has said its last word, but may wait for answers: they get some time."""
        if self._client is None or not self._is_heard():
            return False
        self._tasks.start(self._leave(self._client))
        return True

    async def _leave(self, client: LineClient) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + FAREWELL_SECONDS
        while client.is_busy and self._is_heard() and loop.time() < end:
            await client.finish(LOOK_SECONDS)
        self._transport.close()

    def _is_heard(self) -> bool:
        """Tell whether the client still reads: one that was killed has closed both ways."""
        sock = self._transport.get_extra_info("socket")
        if sock is None:
            return True
        look = select.poll()
        look.register(sock.fileno(), 0)
        return not any(events & select.POLLHUP for _, events in look.poll(0))

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the client's work."""
        self._attached.discard(self)
        self._all_unread.caught_up(self)
        self._projects.leave(self._wishes.cwd)
        if self._client is not None:
            self._tasks.start(self._client.close())

    def _write(self, data: bytes) -> None:
        if self._transport.is_closing():
            return
        if not self._is_behind:
            self._transport.write(data)
        elif self.unread > UNREAD_BYTES:
            log.warning("a client does not read; hanging up")
            self.cut_off()
        else:
            self._transport.write(data)
            self._all_unread.grew(self, len(data))

    def pause_writing(self) -> None:
        """The client reads slower than we write."""
        self._is_behind = True
        self._all_unread.fell_behind(self)

    def resume_writing(self) -> None:
        """It has caught up."""
        self._is_behind = False
        self._all_unread.caught_up(self)

    @property
    def unread(self) -> int:
        """Bytes that the client has not read yet."""
        return self._transport.get_write_buffer_size()

    def cut_off(self) -> None:
        """Hang up at once."""
        self._transport.abort()

    def part(self, *, comes_back: bool) -> None:
        """Say that the hub stops; if it comes back, new requests are to wait for it."""
        if self._client is not None and self._wishes.outlives:
            self._write(jsonrpc.encode({"toolyard": {"leaving": _LEAVING[comes_back]}}) + b"\n")
            self._held_by = asyncio.get_running_loop().time() + HOLD_SECONDS if comes_back else 0.0

    @property
    def is_quiet(self) -> bool:
        """True if it waits for nothing, and nothing more is to come from it."""
        if self._client is None:
            return True
        is_held = self._client.holds or asyncio.get_running_loop().time() > self._held_by
        return is_held and not self._client.is_busy

    def dismiss(self) -> None:
        """Answer what is under way, and hang up."""
        if self._client is not None:
            self._client.dismiss()
        self._transport.close()


class SocketDoor:
    """Listens on the hub's socket: only this user can reach it."""

    def __init__(
        self,
        relay: Relay,
        projects: ProjectFolders,
        readiness: Readiness,
        path: Path,
        limit: int,
        unread: Unread,
        comes_back: Callable[[], bool],
    ) -> None:
        """Listen at `path`; `projects` are told where the clients work."""
        self._relay = relay
        self._projects = projects
        self._readiness = readiness
        self._path = path
        self._limit = limit
        self._unread = unread
        self._comes_back = comes_back

    async def run(self, ready: Callable[[], None], stop: asyncio.Event) -> None:
        """Serve until told to stop, then let what is under way finish, within bounds."""
        tasks = Tasks()
        attached: set[SocketClient] = set()
        self._path.unlink(missing_ok=True)
        before = os.umask(0o177)

        def attach() -> SocketClient:
            return SocketClient(
                self._relay,
                self._projects,
                self._readiness,
                self._limit,
                tasks,
                attached,
                self._unread,
            )

        try:
            loop = asyncio.get_running_loop()
            server = await loop.create_unix_server(attach, str(self._path))
        finally:
            os.umask(before)
        ready()
        try:
            try:
                await stop.wait()
            finally:
                server.close()
                self._path.unlink(missing_ok=True)
            await self._drain(attached)
        finally:
            for client in list(attached):
                client.dismiss()
            await tasks.close()

    async def _drain(self, attached: set[SocketClient]) -> None:
        for client in attached:
            client.part(comes_back=self._comes_back())
        loop = asyncio.get_running_loop()
        end = loop.time() + DRAIN_SECONDS
        # A client that does not answer is let go in time.
        while loop.time() < end and not all(client.is_quiet for client in attached):  # noqa: ASYNC110 - no event says so
            await asyncio.sleep(LOOK_SECONDS)
        if busy := sum(not client.is_quiet for client in attached):
            log.warning("%d clients on stdio did not end within %g s", busy, DRAIN_SECONDS)
