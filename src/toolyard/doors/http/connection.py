"""One HTTP/1.1 connection of a client: requests in, answers out, nothing in between.

Answers are written straight to the transport, so a short call costs one write
and no task. Whoever serves a request is told when its client hangs up.
"""

from __future__ import annotations

import asyncio
import select
from collections import deque
from functools import lru_cache
from math import inf
from typing import Final, Protocol, cast

import httptools

from toolyard.core.caller import TurnedAway
from toolyard.doors.http.address import here, is_here
from toolyard.doors.http.reply import HttpReply, Pairs, Request, header_lines
from toolyard.doors.http.unread import UNREAD_BYTES, Unread

HEADER_BYTES: Final = 32 << 10
HEADER_COUNT: Final = 128
"""Each header costs more to keep than it has bytes."""
HEADER_SECONDS: Final = 10.0
BODY_IDLE_SECONDS: Final = 30.0
BODY_SECONDS: Final = 300.0
"""The time that a body may take in all, however steadily it trickles."""
KEEP_ALIVE_SECONDS: Final = 30.0
LINGER_SECONDS: Final = 0.1
"""The time that a client has for a request that was on its way when we began to leave."""
STALLED_SECONDS: Final = 1.0
"""The same for the next piece of one that had begun to arrive."""
STRANGER_BYTES: Final = 64 << 10
"""The most that a client without a token may leave unread: it is given small files alone."""
TARGETS: Final = 64
"""Targets that are remembered as they were read."""
PIPELINED: Final = 16
"""Requests one connection may send ahead."""
_UPGRADE: Final = frozenset({b"upgrade", b"connection", b"http2-settings"})


class ConnectionHandler(Protocol):
    """The judge of a connection's requests, and whoever serves them."""

    limit: int
    """The largest body taken."""
    unread: Unread
    """Counts what clients have not read."""

    def refusal(self, connection: InboundConnection, request: Request) -> TurnedAway | None:
        """Judge a request by its head; return status and reason if it may not pass."""
        ...

    def refuse(self, reply: HttpReply, refused: TurnedAway) -> None:
        """Turn a request away."""
        ...

    def serve(self, request: Request, reply: HttpReply) -> None:
        """Begin to serve a request; must not block."""
        ...

    def opened(self, connection: InboundConnection) -> None:
        """A connection was made."""
        ...

    def closed(self, connection: InboundConnection) -> None:
        """A connection has ended."""
        ...


class InboundConnection(asyncio.Protocol):
    """Reads requests one after the other; each is answered before the next is begun."""

    def __init__(self, handler: ConnectionHandler) -> None:
        self._handler = handler
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport
        self._reply: HttpReply | None = None
        self._waiting: deque[tuple[Request, HttpReply]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = inf
        self._url = b""
        self._headers: Pairs = []
        self._head_size = 0
        self._unheard = 0
        """Bytes since the last head or piece of a body: the parser keeps a header until it is
        whole."""
        self._request: Request | None = None
        self._is_reading = False
        """True from the first byte of a request to its last."""
        self._body: bytes | bytearray = b""
        self._body_end = inf
        self._refused: TurnedAway | None = None
        """The last answer of this connection; nothing after it is read."""
        self._unread = inf
        self._writable: asyncio.Event | None = None
        self._is_leaving = False
        """True once the next answer is to be the last."""
        self._is_closing = False
        """True once nothing but that answer is waited for."""
        self.distant_host = ""
        """The address at the other end; empty for this machine."""
        self.here = b""
        """The host and port that the client has connected to."""
        self.is_known = False
        """True once somebody with a token has spoken here."""

    @property
    def client_host(self) -> str:
        """The address at the other end; empty if it has none."""
        name = self._transport.get_extra_info("peername")
        return str(name[0]) if isinstance(name, tuple) else ""

    # The transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the clock for the first head."""
        self._transport = cast("asyncio.Transport", transport)
        self.here = here(transport)
        host = self.client_host
        self.distant_host = "" if is_here(host) else host
        self._handler.opened(self)
        self._patience(HEADER_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell whoever serves that the client is gone."""
        if self._timer is not None:
            self._timer.cancel()
        self._handler.closed(self)
        self._handler.unread.caught_up(self)
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
        if self._refused is not None:
            return
        self._unheard += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._stay(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self._refuse(400, "this is not HTTP")
        if self._unheard > HEADER_BYTES:
            self._refuse(431, f"the head is larger than {HEADER_BYTES} bytes")
        elif self._request is not None:
            self._await_body()

    def pause_writing(self) -> None:
        """The client reads slower than we write."""
        self._writable = asyncio.Event()
        self._handler.unread.fell_behind(self)

    def resume_writing(self) -> None:
        """It has caught up."""
        self._handler.unread.caught_up(self)
        if self._writable is not None:
            self._writable.set()
            self._writable = None

    async def drained(self) -> None:
        """Wait while the client is behind."""
        if self._writable is not None:
            await self._writable.wait()

    def write(self, data: bytes) -> None:
        """Send bytes; a client that has not read what it got before loses the connection."""
        if self._transport.is_closing():
            return
        if self._writable is None:
            self._transport.write(data)
        elif self.unread > (UNREAD_BYTES if self.is_known else STRANGER_BYTES):
            self.abort()
        else:
            self._transport.write(data)
            self._handler.unread.grew(self, len(data))

    @property
    def unread(self) -> int:
        """Bytes that the client has not read yet."""
        return self._transport.get_write_buffer_size()

    def abort(self) -> None:
        """Hang up at once."""
        self._transport.abort()

    cut_off = abort

    def leave(self) -> None:
        """Say with the next answer that it is the last: the client must ask elsewhere then."""
        self._is_leaving = True
        owed = self._waiting[-1][1] if self._waiting else self._reply
        if owed is not None and not owed.streaming:  # a stream has said already that others follow
            owed.keep = False

    def close_when_idle(self) -> None:
        """Hang up once what is under way is answered, and what is on its way has had its time."""
        self.leave()
        self._is_closing = True
        if self._reply is None:
            self._linger()

    # The parser.

    def on_message_begin(self) -> None:
        """A new head begins."""
        self._url, self._headers, self._head_size = b"", [], 0
        self._body, self._body_end = b"", inf
        self._request = None
        self._is_reading = True

    def on_url(self, url: bytes) -> None:
        """A piece of the target."""
        self._url += url
        self._head_size += len(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header; the parser leaves blanks at the end of values."""
        if self._request is not None:
            return  # what trails a body came too late to be judged
        self._headers.append((name.lower(), value.strip()))
        self._head_size += len(name) + len(value)
        if self._head_size > HEADER_BYTES:
            self._refuse(431, f"the head is larger than {HEADER_BYTES} bytes")
        elif len(self._headers) > HEADER_COUNT:
            self._refuse(431, f"the head has more than {HEADER_COUNT} headers")

    def on_headers_complete(self) -> None:
        """Judge the head before anything of the body is read."""
        self._unheard = 0
        if self._refused is not None:
            return
        if self._parser.should_upgrade() and self._parser.get_method() != b"CONNECT":
            return  # it would rather speak something else; the parser gives no body then
        method = self._parser.get_method().decode("ascii")
        path, query, authority = read_target(self._url)
        request = self._request = Request(method, path, query, self._headers, authority)
        refused = self._refused_for(request)
        if refused is not None:
            self._turn_away(refused)

    def on_body(self, body: bytes) -> None:
        """A piece of the body, counted while it comes."""
        if self._refused is not None:
            return
        self._unheard = 0
        if len(self._body) + len(body) > self._handler.limit:
            self._refuse(413, f"the body is larger than {self._handler.limit} bytes")
        elif not self._body:
            self._body = body  # most come in one piece
        else:
            self._append(body)

    def _append(self, piece: bytes) -> None:
        """Keep a further piece: in one buffer, as an object for each costs far more than it has."""
        if isinstance(self._body, bytes):
            self._body = bytearray(self._body)
        self._body += piece

    def _await_body(self) -> None:
        """Start the clock for the rest of a body; most come together with their head."""
        if self._refused is not None:
            return
        now = self._loop.time()
        self._body_end = min(self._body_end, now + BODY_SECONDS)
        self._patience(min(BODY_IDLE_SECONDS, self._body_end - now))

    def on_message_complete(self) -> None:
        """Serve the request, or keep it until the one before is answered."""
        request, self._request = self._request, None
        self._is_reading = False
        if self._refused is not None or request is None:
            return
        self._deadline = inf  # it is our move: the client may wait as long as it likes
        self._unheard = 0
        request.body, self._body = bytes(self._body), b""
        keep = self._parser.should_keep_alive() and not self._is_leaving
        plain = self._parser.get_http_version() == "1.0"
        reply = HttpReply(self, keep, plain, bare=request.method == "HEAD")
        if self._reply is None:
            self._reply = reply
            self._handler.serve(request, reply)
        else:
            self._waiting.append((request, reply))
            if len(self._waiting) >= PIPELINED:
                self._stem()

    def _stem(self) -> None:
        """Take no more for now; what one read brought is kept for callers with a token alone."""
        if self.is_known:
            self._transport.pause_reading()
        else:
            self._refuse(400, f"more than {PIPELINED} requests were sent ahead")

    def finished(self, keep: bool) -> None:
        """An answer is complete; go on with the next request, if there may be one."""
        self._reply = None
        if not keep:
            self._close()
        elif self._waiting:
            request, self._reply = self._waiting.popleft()
            if len(self._waiting) < PIPELINED:
                self._transport.resume_reading()
            self._loop.call_soon(self._handler.serve, request, self._reply)
        elif self._refused is not None:
            self._part()
        elif self._is_closing:
            self._linger()
        else:
            self._patience(KEEP_ALIVE_SECONDS)

    # Heads, refusals and clocks.

    def _refused_for(self, request: Request) -> TurnedAway | None:
        if not request.path:
            return TurnedAway(400, "the target cannot be read")
        refused = self._handler.refusal(self, request)
        if refused is not None:
            return refused
        for name, value in request.headers:
            if name == b"content-length" and int(value) > self._handler.limit:
                return TurnedAway(413, f"the body is larger than {self._handler.limit} bytes")
            if name == b"expect" and value.lower() == b"100-continue" and self._reply is None:
                self.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return None

    def _stay(self, rest: bytes) -> None:
        """Some clients offer to upgrade with every request; read it as if it had not."""
        head = b"%b %b HTTP/1.1\r\n" % (self._parser.get_method(), self._url)
        head += header_lines(pair for pair in self._headers if pair[0] not in _UPGRADE)
        self._parser = httptools.HttpRequestParser(self)
        self.data_received(head + b"\r\n" + rest)

    def _refuse(self, status: int, text: str) -> None:
        """Turn away what cannot be read, or is too large."""
        self._turn_away(TurnedAway(status, text))

    def _turn_away(self, refused: TurnedAway) -> None:
        """Turn a request away, after the answers that are owed; nothing that follows is read."""
        if self._refused is not None or self._transport.is_closing():
            return
        self._refused = refused
        self._deadline = inf
        if self._reply is None:
            self._part()

    def _part(self) -> None:
        """Say why no more is read, and hang up."""
        self._reply = HttpReply(self, keep=False)
        self._handler.refuse(self._reply, cast("TurnedAway", self._refused))

    def _close(self) -> None:
        """Hang up once the client has read what was written, but do not wait for ever."""
        self._transport.close()
        self._patience(KEEP_ALIVE_SECONDS)

    def _linger(self) -> None:
        """Give a request that is on its way a moment, and one that has begun to arrive another."""
        if self._transport.is_closing():
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._patience(STALLED_SECONDS if self._is_reading else LINGER_SECONDS)

    def _has_more(self) -> bool:
        """Tell whether a request has arrived that was not read yet: to hang up would lose it."""
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket").fileno(), select.POLLIN)
        return bool(poll.poll(0))

    def _patience(self, seconds: float) -> None:
        """Wait so long for the client's next move; one timer serves them all."""
        self._deadline = self._loop.time() + seconds
        self._unread = inf
        if self._timer is None:
            self._timer = self._loop.call_later(seconds, self._look)

    def _look(self) -> None:
        left = self._deadline - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(min(left, HEADER_SECONDS), self._look)
            return
        self._timer = None
        unread, before = self._transport.get_write_buffer_size(), self._unread
        if not unread and not self._transport.is_closing():
            if not self._is_reading and self._has_more():
                self._patience(LINGER_SECONDS)
            else:
                self._close()
        elif unread < before:
            self._patience(KEEP_ALIVE_SECONDS)
            self._unread = unread
        else:
            self.abort()


@lru_cache(TARGETS)
def read_target(target: bytes) -> tuple[str, bytes, bytes]:
    """Split the target of a request into path, query and the host it names beside `Host`.

    The path is empty if it cannot be read. Clients ask for the same few again and again.
    """
    try:
        url = httptools.parse_url(target)
        path = (url.path or b"/").decode("ascii")
    except (httptools.HttpParserError, UnicodeDecodeError):
        return "", b"", b""
    named = url.host is not None
    authority = target.partition(b"//")[2].partition(b"/")[0].lower() if named else b""
    return path, url.query or b"", authority
