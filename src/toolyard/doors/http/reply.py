"""One request of a client, and the way back for its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Protocol

from toolyard.core.caller import Caller
from toolyard.doors.http.gate import NOBODY

Pairs = list[tuple[bytes, bytes]]
STATUS_LINES: Final = {
    status.value: f"{status.value} {status.phrase}".encode() for status in HTTPStatus
}


@dataclass(slots=True, eq=False)
class Request:
    """One request, complete."""

    method: str
    path: str
    query: bytes
    headers: Pairs
    """In order; names are lower-case, values stripped."""
    authority: bytes = b""
    """The host that the target itself names, as requests to a proxy do."""
    body: bytes = b""
    caller: Caller = NOBODY
    """The caller, as the gate has found."""


class ResponseWriter(Protocol):
    """The connection that an answer goes over."""

    def write(self, data: bytes) -> None:
        """Send bytes."""
        ...

    def finished(self, keep: bool) -> None:
        """The answer is complete; `keep` says whether another may follow."""
        ...

    async def drained(self) -> None:
        """Wait while the client is behind."""
        ...


@dataclass(slots=True, eq=False)
class HttpReply:
    """The way back for one request: an answer at once, or a stream."""

    writer: ResponseWriter
    keep: bool
    """True if the connection may serve another request after it."""
    plain: bool = False
    """Without chunks: the client speaks HTTP/1.0."""
    bare: bool = False
    """Without a body: the client asked for the head only."""
    streaming: bool = False
    on_gone: Callable[[], None] | None = None
    """Called when the client hangs up before the end."""
    _over: bool = False

    def respond(self, status: int, body: bytes = b"", lines: bytes = b"") -> None:
        """Send a whole answer, with these header lines."""
        if self._over:
            return
        answer = b"HTTP/1.1 %b\r\ncontent-length: %d\r\n%b%b\r\n%b" % (
            STATUS_LINES[status],
            len(body),
            lines,
            b"" if self.keep else b"connection: close\r\n",
            b"" if self.bare else body,
        )
        # Not before: where there is no memory for this answer, a short one takes its place.
        self._end()
        self.writer.write(answer)
        self.writer.finished(self.keep)

    def start(self, status: int, lines: bytes) -> None:
        """Begin an answer of unknown length, with these header lines."""
        if self._over or self.streaming:
            return
        self.streaming = True
        if self.plain:
            self.keep = False
        how = b"transfer-encoding: chunked\r\n" if not self.plain else b""
        close = b"" if self.keep else b"connection: close\r\n"
        self.writer.write(b"HTTP/1.1 %b\r\n%b%b%b\r\n" % (STATUS_LINES[status], lines, how, close))

    def write(self, data: bytes) -> None:
        """Send a piece of a stream; a client that does not read loses the connection."""
        if self._over or self.bare or not data:
            return
        self.writer.write(data if self.plain else b"%x\r\n%b\r\n" % (len(data), data))

    def finish(self) -> None:
        """End a stream."""
        if self._over:
            return
        self._end()
        if not self.plain and not self.bare:
            self.writer.write(b"0\r\n\r\n")
        self.writer.finished(self.keep)

    async def drained(self) -> None:
        """Wait until the client has read most of what was sent."""
        await self.writer.drained()

    def gone(self) -> None:
        """The client hung up."""
        on_gone = self.on_gone
        self._end()
        if on_gone is not None:
            on_gone()

    def _end(self) -> None:
        """Nothing more is sent, and nobody is told when the client hangs up.

        Whoever was to be told leads back here, and a large answer must not wait for the collector.
        """
        self._over = True
        self.on_gone = None


def header_lines(pairs: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Headers as the lines that are sent."""
    return b"".join(b"%b: %b\r\n" % pair for pair in pairs)
