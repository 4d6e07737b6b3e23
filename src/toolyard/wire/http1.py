"""A small HTTP/1.1 client for the path where calls flow: pooled, and driven by callbacks.

A request on an idle connection costs one write; no task, no future, no stream
objects. Nothing is repeated on its own: a lost connection is the caller's news.
"""

from __future__ import annotations

import asyncio
import ssl
from time import perf_counter
from typing import Final, NamedTuple, Protocol, cast
from urllib.parse import urlsplit

import httptools

from toolyard.tasks import Tasks

DIAL_SECONDS: Final = 10.0
IDLE_SECONDS: Final = 4.0
"""Common servers close an idle connection after 5 s; a request sent just then would be lost."""

HEAD_LIMIT: Final = 64 * 1024
"""Bytes of the fields of one answer, before and after its body; and of all that is not body and
comes in a row, such as a field or the mark of a chunk that never ends."""
FIELD_COST: Final = 32
"""What a field costs beyond its bytes, as HTTP/2 counts it: many small ones add up too."""
SLICE: Final = 16 * 1024
TURN_SECONDS: Final = 0.005
"""Data is parsed in slices; when those of one turn of the loop took so long together, others have
theirs. A loop hands over many pieces in one turn, as long as there is something to read."""

Headers = dict[bytes, bytes]
_LENGTHS: Final = frozenset({b"content-length", b"transfer-encoding"})


class Sink(Protocol):
    """The receiver of an answer, piece by piece."""

    def head(self, status: int, headers: Headers) -> None:
        """The status line and headers arrived; names are lower-case."""
        ...

    def body(self, chunk: bytes) -> None:
        """A piece of the body arrived."""
        ...

    def done(self) -> None:
        """The answer is complete."""
        ...

    def lost(self, why: str) -> None:
        """There will be no (more of an) answer."""
        ...


class HttpTarget(NamedTuple):
    """The host and port to connect to, and the target to ask for."""

    host: str
    port: int
    secure: bool
    target: str
    resolved: tuple[str, ...] = ()
    """The addresses of its host, if somebody has judged them; it is not looked up again then."""

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        usual = 443 if self.secure else 80
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == usual else f"{host}:{self.port}"


def parse_address(url: str) -> HttpTarget:
    """Split an http or https URL.

    Raises:
        ValueError: It is not one.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is not an http or https address")
    secure = parts.scheme == "https"
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not target.isascii() or any(c <= " " for c in target):
        raise ValueError(f"{url!r} holds characters that must be percent-encoded")
    return HttpTarget(parts.hostname, parts.port or (443 if secure else 80), secure, target)


class Connection(asyncio.Protocol):
    """One connection of a pool: busy with one request, or idle."""

    __slots__ = (
        "_backlog",
        "_first",
        "_headers",
        "_parser",
        "_pool",
        "_quiet",
        "_resting",
        "_room",
        "_sink",
        "_spent",
        "_to_the_end",
        "_transport",
        "idle_since",
    )

    def __init__(self, pool: Pool, sink: Sink, payload: bytes) -> None:
        self._pool = pool
        self._sink: Sink | None = sink
        self._first = payload
        self._headers: Headers = {}
        self._room = HEAD_LIMIT
        """Bytes that the fields of this answer may still have."""
        self._quiet = 0
        """Bytes since the last that belonged to a body."""
        self._resting = False
        self._backlog = b""
        """Sent, and not yet fed to the parser."""
        self._spent = 0.0
        """Seconds that the parser took for much data in this turn of the loop."""
        self._to_the_end = False
        self._transport: asyncio.Transport | None = None
        self.idle_since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the request that made us dial."""
        self._transport = cast("asyncio.Transport", transport)
        self._parser = httptools.HttpResponseParser(self)
        self._pool.keep(self)
        if self._sink is None:
            self._transport.close()
            return
        self._transport.write(self._first)
        self._first = b""

    def send(self, payload: bytes, sink: Sink) -> None:
        """Send one more request on an idle connection."""
        self._sink = sink
        if self._transport is not None:
            self._transport.write(payload)

    def abandon(self) -> None:
        """The answer is not wanted any more: hang up, which tells the server too."""
        self._sink = None
        if self._transport is not None:
            self._transport.abort()

    @property
    def is_open(self) -> bool:
        """Return whether it can carry another request."""
        return self._transport is not None and not self._transport.is_closing()

    def close(self) -> None:
        """Close an idle connection."""
        if self._transport is not None:
            self._transport.close()

    # What the event loop and the parser call.

    def data_received(self, data: bytes) -> None:
        """Feed the parser; what is not HTTP, or answers nothing, ends the connection."""
        if self._sink is None:
            self.abandon()
            return
        if self._resting:
            self._backlog += data
        elif len(data) <= SLICE:
            self._feed(data)
        else:
            self._take(data)

    def _take(self, data: bytes) -> None:
        """Feed much to the parser; a body in crumbs must not keep the loop to itself, and rests."""
        if not self._spent:
            self._pool.loop.call_soon(self._end_turn)
        began, view = perf_counter() - self._spent, memoryview(data)
        for end in range(SLICE, len(data) + SLICE, SLICE):
            self._feed(view[end - SLICE : end])
            if self._sink is None:
                if end < len(data):
                    self.abandon()  # it sent more than its answer
                return
            self._spent = perf_counter() - began
            if self._spent > TURN_SECONDS:
                self._rest(data[end:], self._spent)
                return

    def _end_turn(self) -> None:
        self._spent = 0.0

    def _feed(self, data: bytes | memoryview) -> None:
        self._quiet += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._lose(f"its answer is not HTTP ({error})")
            self.abandon()
        if self._quiet > HEAD_LIMIT:
            self._refuse_head()

    def _rest(self, rest: bytes, seconds: float) -> None:
        """Read nothing for a while, as long as the last work took."""
        if self._transport is not None and self.is_open:
            self._resting = True
            self._backlog = rest
            self._transport.pause_reading()
            self._pool.loop.call_later(min(seconds, 1.0), self._go_on)

    def _go_on(self) -> None:
        if self._transport is None or not self.is_open:
            return
        backlog, self._backlog, self._resting = self._backlog, b"", False
        self._take(backlog)
        if not self._resting and self.is_open:
            self._transport.resume_reading()

    def _refuse_head(self) -> None:
        self._lose(f"the head of its answer has more than {HEAD_LIMIT} bytes")
        self.abandon()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell whoever still waits."""
        if self._backlog and self._sink is not None:
            self._feed(self._backlog)
        self._pool.forget(self)
        if exc is None and self._to_the_end and self._sink is not None:
            # A body without a length ends with its connection.
            sink, self._sink = self._sink, None
            sink.done()
        self._lose("it closed the connection" if exc is None else f"the connection broke ({exc})")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header of the answer, as long as all of them stay within their limit."""
        self._room -= len(name) + len(value) + FIELD_COST
        if self._room < 0:
            self._refuse_head()
            return
        key, value = name.lower(), value.strip()
        if key == b"www-authenticate" and key in self._headers:
            value = b"%b, %b" % (self._headers[key], value)
        self._headers[key] = value

    def on_headers_complete(self) -> None:
        """Hand on the head of the answer."""
        headers, self._headers = self._headers, {}
        self._quiet = 0
        self._to_the_end = not _LENGTHS & headers.keys()
        if self._sink is not None:
            self._sink.head(self._parser.get_status_code(), headers)

    def on_body(self, body: bytes) -> None:
        """Hand on a piece of the body."""
        self._quiet = 0
        if self._sink is not None:
            self._sink.body(body)

    def on_message_complete(self) -> None:
        """Go idle, then hand on the end: the sink may send its next request at once."""
        if self._parser.get_status_code() < 200:
            return
        sink, self._sink = self._sink, None
        if self._headers:
            self._headers = {}  # trailers
        self._room = HEAD_LIMIT
        self._quiet = 0
        self._to_the_end = False
        if sink is not None and self._parser.should_keep_alive():
            self._pool.release(self)
        else:
            self.close()
        if sink is not None:
            sink.done()

    def _lose(self, why: str) -> None:
        sink, self._sink = self._sink, None
        if sink is not None:
            sink.lost(why)


class Pool:
    """Keep-alive connections to one address."""

    __slots__ = (
        "_address",
        "_all",
        "_closed",
        "_idle",
        "_idle_seconds",
        "_sweeper",
        "_tasks",
        "_tls",
        "loop",
    )

    def __init__(
        self,
        address: HttpTarget,
        tls: ssl.SSLContext | None = None,
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        self._address = address
        self._tls = (tls or ssl.create_default_context()) if address.secure else None
        self._idle: list[Connection] = []
        """The longest idle one first."""
        self._idle_seconds = idle_seconds
        self._sweeper: asyncio.TimerHandle | None = None
        self._all: set[Connection] = set()
        self._tasks = Tasks()
        self.loop = asyncio.get_running_loop()
        self._closed = False

    def send(self, payload: bytes, sink: Sink) -> Connection:
        """Send a whole request; its answer goes to `sink`."""
        while self._idle:
            connection = self._idle.pop()
            age = self.loop.time() - connection.idle_since
            if connection.is_open and age < self._idle_seconds:
                connection.send(payload, sink)
                return connection
            connection.close()
        connection = Connection(self, sink, payload)
        if self._tasks.start(self._dial(connection, sink)) is None:
            sink.lost("the link is closed")
        return connection

    async def _dial(self, connection: Connection, sink: Sink) -> None:
        address = self._address
        try:
            async with asyncio.timeout(DIAL_SECONDS):
                await self._connect(connection)
        except TimeoutError:
            sink.lost(f"no connection to {address.authority} within {DIAL_SECONDS:.0f} s")
        except (OSError, ssl.SSLError) as error:
            sink.lost(f"cannot connect to {address.authority} ({_reason(error)})")

    async def _connect(self, connection: Connection) -> None:
        address = self._address
        places = address.resolved or (address.host,)
        for place in places:
            try:
                await self.loop.create_connection(
                    lambda: connection,
                    place,
                    address.port,
                    ssl=self._tls,
                    server_hostname=address.host if self._tls else None,
                )
            except OSError:
                if place == places[-1]:
                    raise
            else:
                return

    def keep(self, connection: Connection) -> None:
        """Take in a connection that was just made."""
        self._all.add(connection)

    def release(self, connection: Connection) -> None:
        """Take back a connection that has done its work."""
        if self._closed:
            connection.close()
            return
        connection.idle_since = self.loop.time()
        self._idle.append(connection)
        if self._sweeper is None:
            self._sweeper = self.loop.call_later(self._idle_seconds, self._sweep)

    def _sweep(self) -> None:
        """Close what nobody needed for long; one timer for all, and none while all are busy."""
        now = self.loop.time()  # read once: the same moment for all of them
        stale = [c for c in self._idle if now - c.idle_since >= self._idle_seconds]
        self._idle = self._idle[len(stale) :]
        for connection in stale:
            connection.close()
        self._sweeper = None
        if self._idle:
            rest = self._idle_seconds - (now - self._idle[0].idle_since)
            self._sweeper = self.loop.call_later(rest, self._sweep)

    def forget(self, connection: Connection) -> None:
        """Drop a connection that has ended."""
        self._all.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)

    async def close(self) -> None:
        """Close every connection; requests under way are lost."""
        self._closed = True
        if self._sweeper is not None:
            self._sweeper.cancel()
        await self._tasks.close()
        for connection in list(self._all):
            connection.abandon()


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
