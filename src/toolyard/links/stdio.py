"""Carries messages over the pipes of a server's process: one line each."""

from __future__ import annotations

from typing import Final

from toolyard.core.errors import BusyError
from toolyard.core.ports import Pipes
from toolyard.links.link import Link
from toolyard.links.pending import PendingRequest
from toolyard.wire import jsonrpc
from toolyard.wire.jsonrpc import one_line
from toolyard.wire.lines import ENDLESS, Lines

UNSENT_LIMIT: Final = 8 << 20
"""A server that does not read gets no more than this many bytes queued for it by one client."""
UNSENT_SHARE: Final = 1 << 20
"""Beyond that limit, a client may queue this much all the same: others have filled the queue."""
COUNTED: Final = 1000
"""Clients whose bytes are counted at a time."""
UNSENT_MOST: Final = 32 << 20
"""No more than this is queued by all clients together."""


class StdioChannel:
    """One process, one pipe each way."""

    cancel_by_message = True

    def __init__(self, link: Link, pipes: Pipes, limit: int) -> None:
        self._link = link
        self._pipes = pipes
        self._lines = Lines(limit, link.receive, self._skip, self._endless)
        self._limit = limit
        self._queued: dict[object, int] = {}
        """The bytes that each client has sent since the queue was last short."""
        link.attach(self)
        pipes.connect(self._lines.feed, link.lose)

    @property
    def trace(self) -> tuple[str, ...]:
        """The last lines of its stderr."""
        return self._pipes.stderr

    @property
    def pid(self) -> int:
        """Its process."""
        return self._pipes.pid

    def send(self, message: bytes, pending: PendingRequest | None, head: bytes) -> None:
        """Write one line."""
        line = one_line(message) + b"\n"
        unsent = self._pipes.unsent
        if unsent <= UNSENT_SHARE:
            if self._queued:
                self._queued.clear()
        elif not self._has_room(pending, len(line), unsent):
            if pending is not None:
                self._link.fail(pending, BusyError(f"{self._link.name!r} does not read its input"))
            return
        self._pipes.write(line)

    def _has_room(self, pending: PendingRequest | None, size: int, unsent: int) -> bool:
        """Say whether a client may queue one more line: who floods a server fills no other's share.

        What belongs to no client, such as a cancellation, has a share of its own.
        """
        requester = pending.requester if pending is not None else None
        client = requester.client if requester is not None else None
        queued = self._queued.get(client, 0) + size
        if unsent > UNSENT_MOST or (unsent > UNSENT_LIMIT and queued > UNSENT_SHARE):
            return False
        if len(self._queued) >= COUNTED:
            self._queued.clear()
        self._queued[client] = queued
        return True

    def drop(self, pending: PendingRequest) -> None:
        """Nothing to hang up: the pipe is everybody's."""

    def close(self) -> None:
        """Take no more lines."""
        self._lines.close()

    def _skip(self, head: bytes, tail: bytes | None) -> bool:
        glimpse = jsonrpc.glimpse(head, tail or b"")
        return self._link.skip(glimpse, self._limit, is_over=tail is not None)

    def _endless(self) -> None:
        self._link.lose(f"sent a message without end, beyond {self._limit * ENDLESS} bytes")
