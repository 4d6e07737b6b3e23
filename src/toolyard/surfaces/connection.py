"""One HTTP/1.1 connection of a client: requests in, answers out, nothing in between.

Answers are written straight to the transport, so a short call costs one write
and no task. Whoever serves a request is told when its client hangs up.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from http import HTTPStatus
from math import inf
from typing import Final, Protocol, cast

import httptools

HEADER_BYTES: Final = 32 << 10
HEADER_SECONDS: Final = 10.0
BODY_IDLE_SECONDS: Final = 30.0
KEEP_ALIVE_SECONDS: Final = 30.0
UNREAD_BYTES: Final = 8 << 20
"""A client that does not read is hung up on beyond this."""
PIPELINED: Final = 16
"""Requests one connection may send ahead."""

Pairs = list[tuple[bytes, bytes]]


class Request:
    """One request, complete."""

    __slots__ = ("body", "headers", "method", "path", "query")

    def __init__(self, method: str, path: str, query: bytes, headers: Pairs) -> None:
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        """In order; names are lower-case, values stripped."""
        self.body = b""


class Rules(Protocol):
    """What a connection asks before it reads on, and whom it gives its requests."""

    limit: int
    """The largest body taken."""

    def refusal(self, request: Request) -> tuple[int, str] | None:
        """Why a request is turned away, judged by its head; None if it may pass."""
        ...

    def refuse(self, reply: Reply, status: int, text: str) -> None:
        """Turn a request away."""
        ...

    def serve(self, request: Request, reply: Reply) -> None:
        """Begin to serve a request; must not block."""
        ...

    def opened(self, connection: Connection) -> None:
        """A connection was made."""
        ...

    def closed(self, connection: Connection) -> None:
        """A connection has ended."""
        ...


class Reply:
    """The way back for one request: an answer at once, or a stream."""

    __slots__ = ("_connection", "_keep", "_over", "_plain", "on_gone", "streaming")

    def __init__(self, connection: Connection, keep: bool, plain: bool) -> None:
        self._connection = connection
        self._keep = keep
        self._plain = plain
        """Without chunks: the client speaks HTTP/1.0, or asked for the head only."""
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
        self._over = True
        lines = b"".join(b"%b: %b\r\n" % pair for pair in headers)
        close = b"" if self._keep else b"connection: close\r\n"
        self._connection.write(
            b"HTTP/1.1 %b\r\ncontent-length: %d\r\n%b%b\r\n%b"
            % (_line(status), len(body), lines, close, body)
        )
        self._connection.finished(self._keep)

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
        self._connection.write(b"HTTP/1.1 %b\r\n%b%b%b\r\n" % (_line(status), lines, how, close))

    def write(self, data: bytes) -> None:
        """Send a piece of a stream; a client that does not read loses the connection."""
        if self._over or not data:
            return
        self._connection.write(data if self._plain else b"%x\r\n%b\r\n" % (len(data), data))
        if self._connection.unsent > UNREAD_BYTES:
            self._connection.abort()

    def finish(self) -> None:
        """End a stream."""
        if self._over:
            return
        self._over = True
        if not self._plain:
            self._connection.write(b"0\r\n\r\n")
        self._connection.finished(self._keep)

    async def drained(self) -> None:
        """Wait until the client has read most of what was sent."""
        await self._connection.drained()

    def refuse_more(self) -> None:
        """The connection cannot be used any further."""
        self._keep = False

    def gone(self) -> None:
        """The client hung up."""
        self._over = True
        if self.on_gone is not None:
            self.on_gone()


class Connection(asyncio.Protocol):
    """Reads requests one after the other; each is answered before the next is begun."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport
        self._reply: Reply | None = None
        self._waiting: deque[tuple[Request, Reply]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = inf
        self._url = b""
        self._headers: Pairs = []
        self._head_size = 0
        self._request: Request | None = None
        self._body: list[bytes] = []
        self._size = 0
        self._refused: tuple[int, str] | None = None
        self._writable: asyncio.Event | None = None
        self.closing = False

    # The transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the clock for the first head."""
        self._transport = cast("asyncio.Transport", transport)
        self._rules.opened(self)
        self._patience(HEADER_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell whoever serves that the client is gone."""
        if self._timer is not None:
            self._timer.cancel()
        self._rules.closed(self)
        if self._writable is not None:
            self._writable.set()
        replies = [self._reply, *(reply for _, reply in self._waiting)]
        self._reply = None
        self._waiting.clear()
        for reply in replies:
            if reply is not None:
                reply.gone()

    def data_received(self, data: bytes) -> None:
        """Feed the parser; what is not HTTP is told so."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._fail(400, "upgrades are not supported")
        except httptools.HttpParserError:
            self._fail(400, "this is not HTTP")

    def pause_writing(self) -> None:
        """The client reads slower than we write."""
        self._writable = asyncio.Event()

    def resume_writing(self) -> None:
        """It has caught up."""
        if self._writable is not None:
            self._writable.set()
            self._writable = None

    async def drained(self) -> None:
        """Wait while the client is behind."""
        if self._writable is not None:
            await self._writable.wait()

    def write(self, data: bytes) -> None:
        """Send bytes."""
        if not self._transport.is_closing():
            self._transport.write(data)

    @property
    def unsent(self) -> int:
        """How many bytes the client has not taken yet."""
        return self._transport.get_write_buffer_size()

    def abort(self) -> None:
        """Hang up at once."""
        self._transport.abort()

    def close_when_idle(self) -> None:
        """Take no further request; hang up once what is under way is answered."""
        self.closing = True
        if self._reply is None:
            self._transport.close()

    # The parser.

    def on_message_begin(self) -> None:
        """A new head begins."""
        self._url, self._headers, self._head_size = b"", [], 0
        self._body, self._size, self._refused = [], 0, None
        self._request = None

    def on_url(self, url: bytes) -> None:
        """A piece of the target."""
        self._url += url
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header; the parser leaves blanks at the end of values."""
        self._headers.append((name.lower(), value.strip()))
        self._count(len(name) + len(value))

    def on_headers_complete(self) -> None:
        """Judge the head before anything of the body is read."""
        try:
            url = httptools.parse_url(self._url)
            path = (url.path or b"/").decode("ascii")
        except (httptools.HttpParserError, UnicodeDecodeError):
            self._refused = (400, "the target cannot be read")
            path, query = "/", b""
        else:
            query = url.query or b""
        method = self._parser.get_method().decode("ascii")
        request = self._request = Request(method, path, query, self._headers)
        self._refused = self._refused or self._rules.refusal(request)
        for name, value in self._headers:
            if name == b"content-length" and int(value) > self._rules.limit:
                self._refused = (413, f"the body is larger than {self._rules.limit} bytes")
            elif name == b"expect" and value.lower() == b"100-continue" and self._refused is None:
                self.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if self._refused is not None:
            self._turn_away()
        else:
            self._patience(BODY_IDLE_SECONDS)

    def on_body(self, body: bytes) -> None:
        """A piece of the body, counted while it comes."""
        if self._refused is not None:
            return
        self._size += len(body)
        if self._size > self._rules.limit:
            self._refused = (413, f"the body is larger than {self._rules.limit} bytes")
            self._turn_away()
            return
        self._body.append(body)
        if self._size > len(body):
            self._patience(BODY_IDLE_SECONDS)

    def on_message_complete(self) -> None:
        """Serve the request, or keep it until the one before is answered."""
        request = self._request
        if self._refused is not None or request is None:
            return
        self._calm()
        request.body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        keep = self._parser.should_keep_alive() and not self.closing
        plain = request.method == "HEAD" or self._parser.get_http_version() == "1.0"
        reply = Reply(self, keep, plain)
        if self._reply is None:
            self._reply = reply
            self._rules.serve(request, reply)
        else:
            self._waiting.append((request, reply))
            if len(self._waiting) >= PIPELINED:
                self._transport.pause_reading()

    def finished(self, keep: bool) -> None:
        """An answer is complete; go on with the next request, if there may be one."""
        self._reply = None
        if not keep or (self.closing and not self._waiting):
            self._transport.close()
        elif self._waiting:
            request, self._reply = self._waiting.popleft()
            self._transport.resume_reading()
            self._loop.call_soon(self._rules.serve, request, self._reply)
        else:
            self._patience(KEEP_ALIVE_SECONDS)

    # Refusals and clocks.

    def _count(self, size: int) -> None:
        self._head_size += size
        if self._head_size > HEADER_BYTES:
            self._fail(431, f"the head is larger than {HEADER_BYTES} bytes")

    def _turn_away(self) -> None:
        """Refuse by the head alone; what follows on this connection is not read."""
        status, text = cast("tuple[int, str]", self._refused)
        self._fail(status, text)

    def _fail(self, status: int, text: str) -> None:
        if self._transport.is_closing():
            return
        self._refused = (status, text)
        self._calm()
        if self._reply is None:
            self._reply = Reply(self, keep=False, plain=False)
            self._rules.refuse(self._reply, status, text)
        self._transport.close()

    def _patience(self, seconds: float) -> None:
        """Wait so long for the client's next move; one timer serves them all."""
        self._deadline = self._loop.time() + seconds
        if self._timer is None:
            self._timer = self._loop.call_later(seconds, self._look)

    def _calm(self) -> None:
        """It is our move: the client may wait as long as it likes."""
        self._deadline = inf

    def _look(self) -> None:
        left = self._deadline - self._loop.time()
        if left <= 0:
            self._timer = None
            self._transport.close()
        else:
            self._timer = self._loop.call_later(min(left, HEADER_SECONDS), self._look)


_LINES: Final = {status.value: f"{status.value} {status.phrase}".encode() for status in HTTPStatus}


def _line(status: int) -> bytes:
    return _LINES.get(status) or b"%d Unknown" % status
