"""One request of a client, and the ways back: an answer, a stream of events, or what MCP needs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Raw, Struct

from toolyard.core.caller import Caller
from toolyard.doors.http.gate import NOBODY
from toolyard.wire import era, jsonrpc, sse

if TYPE_CHECKING:
    from toolyard.wire.passes import PeerPass

Pairs = list[tuple[bytes, bytes]]
HEARTBEAT_SECONDS: Final = 15.0
STATUS_LINES: Final = {
    status.value: f"{status.value} {status.phrase}".encode() for status in HTTPStatus
}
JSON: Final = b"content-type: application/json\r\n"
PROBLEM: Final = b"content-type: application/problem+json\r\n"
"""The header line of every answer of MCP that is no stream."""
EVENTS: Final = (
    b"content-type: text/event-stream\r\n"
    b"cache-control: no-cache, no-transform\r\n"
    b"x-accel-buffering: no\r\n"
)
"""The header lines of a stream."""
ERROR_STATUS: Final = {
    era.PARSE_ERROR: 400,
    era.INVALID_REQUEST: 400,
    era.HEADER_MISMATCH: 400,
    era.MISSING_CAPABILITY: 400,
    era.UNSUPPORTED_VERSION: 400,
    era.METHOD_NOT_FOUND: 404,
}
"""The HTTP status of a modern error; all others are 200."""
LONGEST_WAIT: Final = 31 * 86400
"""Seconds after which a client is told to try again, at most."""


class Request(Struct, eq=False):
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
    peer_pass: PeerPass | None = None
    """The pass of another replica, as the door for them has read it."""
    arrived_at: bytes = b""
    """The host and port that the client has connected to, if it has to be judged again."""


class ResponseWriter(Protocol):
    """The connection that an answer goes over."""

    @property
    def client_host(self) -> str:
        """The address at its other end; empty if it has none."""
        ...

    @property
    def distant_host(self) -> str:
        """The same; empty for this machine, too."""
        ...

    def write(self, data: bytes) -> None:
        """Send bytes."""
        ...

    def finished(self, keep: bool) -> None:
        """The answer is complete; `keep` says whether another may follow."""
        ...

    async def drained(self) -> None:
        """Wait while the client is behind."""
        ...

    def abort(self) -> None:
        """Hang up at once."""
        ...


class HttpReply(Struct, eq=False):
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


class Stream:
    """A reply that becomes a stream of events; keeps a silent one alive."""

    __slots__ = ("_beat", "_loop", "_reply", "expiry")

    def __init__(self, reply: HttpReply) -> None:
        self._reply = reply
        self._loop = asyncio.get_running_loop()
        self.expiry: asyncio.TimerHandle | None = None
        """Ends it with the token of whoever listens."""
        self._reply.start(200, EVENTS)
        self._beat = self._loop.call_later(HEARTBEAT_SECONDS, self._still_here)

    def put(self, message: bytes) -> None:
        """Say something."""
        self._reply.write(sse.event(message))

    def close(self) -> None:
        """The client is gone."""
        self._stop_timers()

    def finish(self, message: bytes = b"") -> None:
        """Say the last thing and end."""
        self._stop_timers()
        if message:
            self.put(message)
        self._reply.finish()

    def _stop_timers(self) -> None:
        self._beat.cancel()
        if self.expiry is not None:
            self.expiry.cancel()

    def _still_here(self) -> None:
        self._reply.write(sse.HEARTBEAT)
        self._beat = self._loop.call_later(HEARTBEAT_SECONDS, self._still_here)


class HttpResponder(Struct, eq=False):
    """Answers a request of MCP with JSON, unless something has to be said before the answer."""

    reply: HttpReply
    is_modern: bool
    takes_stream: bool
    lines: bytes = b""
    """Header lines that go with a result."""
    has_failed: bool = False
    """True if the answer was an error."""
    _stream: Stream | None = None

    def emit(self, message: bytes) -> None:
        """Send something before the answer, as a stream from here on, if the client takes one."""
        if not self.takes_stream:
            return
        if self._stream is None:
            self._stream = Stream(self.reply)
        self._stream.put(message)

    def answer(self, message: bytes, error: Raw) -> None:
        """Send the answer."""
        if self._stream is not None:
            self._stream.finish(message)
            return
        if not message.isascii():
            message = jsonrpc.in_utf_8(message)
        if error:
            self.has_failed = True
            fault = jsonrpc.read_fault(error)
            status, lines = ERROR_STATUS.get(fault.code, 200), JSON
            wait = _retry_after(fault)
            if wait:
                status, lines = 429, b"%bretry-after: %d\r\n" % (JSON, wait)
            # A legacy client takes any other status for a failure of the connection.
            self.reply.respond(status if self.is_modern else 200, message, lines)
        else:
            self.reply.respond(200, message, JSON + self.lines)

    def cancelled(self, id_: bytes) -> None:
        """Tell whoever still waits that there is no answer."""
        fault = jsonrpc.fault(era.SERVER_ERROR, "the request was cancelled")
        self.answer(jsonrpc.error(id_, fault), jsonrpc.NOTHING)

    def hung_up(self) -> None:
        """The client is gone."""
        if self._stream is not None:
            self._stream.close()


def _retry_after(fault: jsonrpc.Fault) -> int:
    """The seconds after which a refused call may be tried again; 0 if it does not say."""
    wait = fault.data.get("retryAfter") if isinstance(fault.data, dict) else None
    if fault.code != era.SERVER_ERROR or not isinstance(wait, int):
        return 0
    return max(0, min(wait, LONGEST_WAIT))


def header_lines(pairs: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Headers as the lines that are sent."""
    return b"".join(b"%b: %b\r\n" % pair for pair in pairs)
