"""Listens for clients: one address, several doors, everything through the gate first."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from toolyard.core.caller import Caller, TurnedAway
from toolyard.core.open_pages import BODY_BYTES
from toolyard.doors.http.accepting import WAITING, Acceptor
from toolyard.doors.http.asgi import serve_app
from toolyard.doors.http.connection import InboundConnection
from toolyard.doors.http.door import HttpDoor
from toolyard.doors.http.gate import LOGIN_FOR, NOBODY, UNPROVEN, VISITOR, Gate
from toolyard.doors.http.path_scope import BELOW, MCP
from toolyard.doors.http.reply import PROBLEM, HttpReply, Request
from toolyard.doors.http.stranger_bodies import StrangerBodies
from toolyard.doors.http.tls import TlsFiles
from toolyard.doors.http.unread import Unread
from toolyard.tasks import Tasks
from toolyard.wire import jsonrpc

if TYPE_CHECKING:
    from starlette.types import ASGIApp

log = logging.getLogger(__name__)

DRAIN_SECONDS: Final = 8.0
"""The time that calls under way have when the hub stops; servers need theirs after it."""
PARTING_SECONDS: Final = 0.5
"""The time that the last words to a client may take."""
FORM_BYTES: Final = 256 << 10
UNPROVEN_BYTES: Final = 64 << 10
"""The largest body that is kept while the issuer of a token is asked for its keys."""


class BoundDoor(NamedTuple):
    """A socket to listen on, and what encrypts it."""

    sock: socket.socket
    tls: TlsFiles | None = None

    @property
    def port(self) -> int:
        """The port it is bound to."""
        port: int = self.sock.getsockname()[1]
        return port


class HttpServer:
    """The HTTP doors behind one gate."""

    def __init__(
        self,
        gate: Gate,
        mcp: HttpDoor,
        rest: ASGIApp,
        unread: Unread,
        *,
        limit: int,
        connections: int,
        takes_forms: bool,
    ) -> None:
        """Serve at most so many connections, with bodies of at most `limit` bytes.

        `takes_forms` says that there are pages on which members enter something.
        """
        self.limit = limit
        self._takes_forms = takes_forms
        self.unread = unread
        self._gate = gate
        self._mcp = mcp
        self._rest = rest
        self._most = connections
        self._tasks = Tasks()
        self._connections: set[InboundConnection] = set()
        self._strangers: dict[InboundConnection, None] = {}
        """Those on which nobody has shown a token yet, the oldest first."""
        self._bodies = StrangerBodies(self._drop)
        self._idle = asyncio.Event()
        self._is_leaving = False
        self._streams: dict[HttpReply, Request] = {}
        """The requests of members beside the MCP door that are being served."""

    async def run(self, listeners: Sequence[BoundDoor], stop: asyncio.Event) -> None:
        """Serve until told to stop, then let what is under way finish, within bounds."""
        acceptors = [
            Acceptor(sock, lambda: InboundConnection(self), self._drop_strangers, tls)
            for sock, tls in listeners
        ]
        try:
            await stop.wait()
        finally:
            self.leave()
            for acceptor in acceptors:
                await acceptor.close()
            await self._drain()
            await self._tasks.close()

    def leave(self) -> None:
        """Go on serving, but make every answer the last of its connection."""
        self._is_leaving = True
        for connection in self._connections:
            connection.leave()

    async def _drain(self) -> None:
        self._mcp.end_streams()
        for connection in list(self._connections):
            connection.close_when_idle()
        if not await self._emptied(DRAIN_SECONDS):
            open_ones = len(self._connections)
            log.warning("%d connections did not end within %g s", open_ones, DRAIN_SECONDS)
            await self._mcp.end()
            await self._emptied(PARTING_SECONDS)
        for connection in list(self._connections):
            connection.abort()

    async def _emptied(self, seconds: float) -> bool:
        """Wait until every connection has ended, so long at most."""
        try:
            async with asyncio.timeout(seconds):
                while self._connections:
                    self._idle.clear()
                    await self._idle.wait()
        except TimeoutError:
            return False
        return True

    # The rules of a connection.

    def refusal(self, connection: InboundConnection, request: Request) -> TurnedAway | None:
        """Turn away whoever may not pass the gate, or has no room."""
        if len(self._connections) > self._most:
            return TurnedAway(503, f"more than {self._most} connections are open")
        judged = self._gate.judge(request.path, request.headers, request.authority, connection.here)
        if not isinstance(judged, Caller):
            return judged
        request.caller = judged
        if judged is NOBODY or judged is VISITOR or judged is UNPROVEN:
            return self._refused_body(connection, request)
        if not connection.is_known:
            connection.is_known = True
            self._strangers.pop(connection, None)
        if judged.member:
            request.arrived_at = connection.here
        return None

    def _refused_body(self, connection: InboundConnection, request: Request) -> TurnedAway | None:
        """Refuse what a stranger may not send; what they may is counted."""
        if request.caller is VISITOR:
            refused = boundless_body(request)
        elif request.caller is UNPROVEN:
            request.arrived_at = connection.here
            refused = large_body(request)
        else:
            refused = unwanted_body(request, takes_forms=self._takes_forms)
        if refused is None:
            self._bodies.begin(connection, told_size(request))
        return refused

    def refuse(self, reply: HttpReply, refused: TurnedAway) -> None:
        """Say why, in a form that people and programs read."""
        status, text, challenge = refused
        body = {"title": text, "status": status, "detail": text, "hint": ""}
        lines = PROBLEM
        if challenge:
            lines += b"www-authenticate: %b\r\n" % challenge.encode("ascii")
        reply.respond(status, jsonrpc.encode(body), lines)

    def serve(self, request: Request, reply: HttpReply) -> None:
        """Take a request to its door."""
        if request.caller is UNPROVEN:
            self._tasks.start(self._prove(request, reply))
        else:
            self._serve(request, reply)

    async def _prove(self, request: Request, reply: HttpReply) -> None:
        """Serve a request once the issuer of its token has told its keys."""
        if self._gate.people is not None:
            await self._gate.people.learn()
        self._bodies.end(reply.writer, len(request.body))
        path, head = request.path, request.headers
        judged = self._gate.judge(path, head, request.authority, request.arrived_at)
        if judged is UNPROVEN:
            judged = TurnedAway(503, "the login service does not answer; try again in a minute")
        if isinstance(judged, TurnedAway):
            self.refuse(reply, judged)
        else:
            request.caller = judged
            self._serve(request, reply)

    def _serve(self, request: Request, reply: HttpReply) -> None:
        if request.path == MCP or request.path.startswith(BELOW):
            self._mcp.serve(request, reply)
        else:
            self._tasks.start(self._serve_app(request, reply))

    async def _serve_app(self, request: Request, reply: HttpReply) -> None:
        if request.caller.member:
            self._streams[reply] = request
        try:
            await serve_app(self._rest, request, reply)
        finally:
            self._streams.pop(reply, None)
            if request.caller is NOBODY or request.caller is VISITOR:
                self._bodies.end(reply.writer, len(request.body))

    def review(self) -> None:
        """Hang up on members who listen to what they may not hear any more."""
        for reply, request in list(self._streams.items()):
            judged = self._gate.judge(
                request.path, request.headers, request.authority, request.arrived_at
            )
            # What is no stream is answered in a moment, also to whoever ended their own rights.
            if reply.streaming and isinstance(judged, TurnedAway):
                reply.writer.abort()

    def opened(self, connection: InboundConnection) -> None:
        """Keep a connection; where there is no room, that of a stranger ends for it."""
        self._connections.add(connection)
        self._strangers[connection] = None
        if self._is_leaving:
            connection.leave()
        if len(self._connections) > self._most and len(self._strangers) > 1:
            self._drop(next(iter(self._strangers)))

    def _drop_strangers(self) -> bool:
        """Give back what half of the strangers hold, the older half; whether there were any.

        Every place that strangers hold is so kept for callers with a token.
        """
        older = list(self._strangers)[: (len(self._strangers) + 1) // 2]
        for stranger in older:
            self._drop(stranger)
        return bool(older)

    def _drop(self, stranger: InboundConnection) -> None:
        self.closed(stranger)
        stranger.abort()

    def closed(self, connection: InboundConnection) -> None:
        """Forget a connection."""
        self._connections.discard(connection)
        self._strangers.pop(connection, None)
        self._bodies.forget(connection)
        self._idle.set()


def told_size(request: Request) -> int:
    """The size of a body as its head tells it; 0 if there is none."""
    lengths = (int(value) for name, value in request.headers if name == b"content-length")
    return next(lengths, 0)


def unwanted_body(request: Request, *, takes_forms: bool) -> TurnedAway | None:
    """Refuse what a caller without a token wants to send: of what is open, only a form takes it."""
    if takes_forms and request.path.startswith(LOGIN_FOR):
        return large_form(request)
    for name, value in request.headers:
        if name == b"transfer-encoding" or (name == b"content-length" and value != b"0"):
            return TurnedAway(413, "no body is taken here without a token")
    return None


def boundless_body(request: Request) -> TurnedAway | None:
    """Refuse what is large, or does not tell its size, from a visitor of an open page."""
    for name, value in request.headers:
        if name == b"transfer-encoding":
            return TurnedAway(411, "send this with a content-length")
        if name == b"content-length" and int(value) > BODY_BYTES:
            return TurnedAway(413, f"at most {BODY_BYTES} bytes are taken here without a token")
    return None


def large_form(request: Request) -> TurnedAway | None:
    """Refuse a form that is larger than any that we show, or of unknown size."""
    for name, value in request.headers:
        is_large = name == b"content-length" and int(value) > FORM_BYTES
        if is_large or name == b"transfer-encoding":
            return TurnedAway(413, f"a form has at most {FORM_BYTES} bytes")
    return None


def large_body(request: Request) -> TurnedAway | None:
    """Refuse to keep much for a caller whose token is not proven yet."""
    for name, value in request.headers:
        is_large = name == b"content-length" and int(value) > UNPROVEN_BYTES
        if is_large or name == b"transfer-encoding":
            return TurnedAway(503, "the token is not known yet; send this again in a moment")
    return None


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; whoever connects before it is served waits for that.

    A socket that is only bound would not keep the port: another hub could bind it, too, and the
    later of the two would fail when it begins to listen.

    Raises:
        OSError: The address is taken or not ours.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(WAITING)
    except OSError:
        sock.close()
        raise
    sock.setblocking(False)
    return sock
