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
"""A server that does not read gets no more than this many bytes queued for it."""


class StdioChannel:
    """One process, one pipe each way."""

    cancel_by_message = True

    def __init__(self, link: Link, pipes: Pipes, limit: int) -> None:
        self._link = link
        self._pipes = pipes
        self._lines = Lines(limit, link.receive, self._skip, self._endless)
        self._limit = limit
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
        if self._pipes.unsent > UNSENT_LIMIT:
            if pending is not None:
                self._link.fail(pending, BusyError(f"{self._link.name!r} does not read its input"))
            return
        self._pipes.write(line)

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
