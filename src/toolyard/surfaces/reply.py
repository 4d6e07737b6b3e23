"""One request of a client, and the way back for its answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Final, Protocol

from toolyard.surfaces.gate import NOBODY, Caller

Pairs = list[tuple[bytes, bytes]]


class Request:
    """One request, complete."""

    __slots__ = ("authority", "body", "caller", "headers", "method", "path", "query")

    def __init__(self, method: str, path: str, query: bytes, headers: Pairs) -> None:
        self.method = method
        self.path = path
        self.query = query
        self.authority = b""
        """The host that the target itself names, as requests to a proxy do."""
        self.headers = headers
        """In order; names are lower-case, values stripped."""
        self.body = b""
        self.caller: Caller = NOBODY
        """Who sent it, as the gate has found."""


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


class Reply:
    """The way back for one request: an answer at once, or a stream."""

    __slots__ = ("_bare", "_keep", "_over", "_plain", "_writer", "on_gone", "streaming")

    def __init__(
        self, writer: ResponseWriter, keep: bool, plain: bool = False, bare: bool = False
    ) -> None:
        self._writer = writer
        self._keep = keep
        self._plain = plain
        """Without chunks: the client speaks HTTP/1.0."""
        self._bare = bare
        """Without a body: the client asked for the head only."""
        self._over = False
        self.streaming = False
        self.on_gone: Callable[[], None] | None = None
        """Called when the client hangs up before the end."""

    def respond(
        self, status: int, body: bytes = b"", headers: Iterable[tuple[bytes, bytes]] = ()
    ) -> None:
        """Send a whole answer."""
        if self._over:
            return
        lines = b"".join(b"%b: %b\r\n" % pair for pair in headers)
        close = b"" if self._keep else b"connection: close\r\n"
        shown = b"" if self._bare else body
        head = (_line(status), len(body), lines, close)
        answer = b"HTTP/1.1 %b\r\ncontent-length: %d\r\n%b%b\r\n%b" % (*head, shown)
        # Not before: where there is no memory for this answer, a short one takes its place.
        self._end()
        self._writer.write(answer)
        self._writer.finished(self._keep)

    def start(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Begin an answer of unknown length."""
        if self._over or self.streaming:
            return
        self.streaming = True
        lines = b"".join(b"%b: %b\r\n" % pair for pair in headers)
        if self._plain:
            self._keep = False
        how = b"transfer-encoding: chunked\r\n" if not self._plain else b""
        close = b"" if self._keep else b"connection: close\r\n"
        self._writer.write(b"HTTP/1.1 %b\r\n%b%b%b\r\n" % (_line(status), lines, how, close))

    def write(self, data: bytes) -> None:
        """Send a piece of a stream; a client that does not read loses the connection."""
        if self._over or self._bare or not data:
            return
        self._writer.write(data if self._plain else b"%x\r\n%b\r\n" % (len(data), data))

    def finish(self) -> None:
        """End a stream."""
        if self._over:
            return
        self._end()
        if not self._plain and not self._bare:
            self._writer.write(b"0\r\n\r\n")
        self._writer.finished(self._keep)

    async def drained(self) -> None:
        """Wait until the client has read most of what was sent."""
        await self._writer.drained()

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


_LINES: Final = {status.value: f"{status.value} {status.phrase}".encode() for status in HTTPStatus}


def _line(status: int) -> bytes:
    return _LINES.get(status) or b"%d Unknown" % status
