"""The door for probes: says whether the hub lives and is ready, to anybody, and nothing else.

Whoever watches over a fleet calls by an address that the hub does not know, and has no token.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Final

from toolyard.core.caller import TurnedAway
from toolyard.doors.http.accepting import Acceptor
from toolyard.doors.http.connection import InboundConnection
from toolyard.doors.http.reply import JSON, HttpReply, Request
from toolyard.doors.http.server import unwanted_body
from toolyard.doors.http.unread import Unread

LIVE: Final = "/health/live"
READY: Final = "/health/ready"
CONNECTIONS: Final = 64
"""Far more than ask at a time; for a new one the oldest ends."""
_TEXT: Final = b"content-type: text/plain\r\n"


class ProbeDoor:
    """Answers two questions, without looking at who asks."""

    limit: int = 0

    def __init__(
        self, has_started: Callable[[], bool], stop: asyncio.Event, unread: Unread
    ) -> None:
        """Answer that the hub is ready from when it has started until it is told to stop.

        A server that is added later does not make the hub unready: all replicas would be at once.
        """
        self.unread = unread
        self._has_started = has_started
        self._stop = stop
        self._was_ready = False
        self._connections: dict[InboundConnection, None] = {}

    async def run(self, sock: socket.socket) -> None:
        """Answer until cancelled."""
        acceptor = Acceptor(sock, lambda: InboundConnection(self), self._drop_oldest)
        try:
            await asyncio.Event().wait()
        finally:
            await acceptor.close()
            for connection in list(self._connections):
                connection.abort()

    @property
    def is_ready(self) -> bool:
        """True while the hub is to be sent requests."""
        self._was_ready = self._was_ready or self._has_started()
        return self._was_ready and not self._stop.is_set()

    # The rules of a connection.

    def refusal(self, connection: InboundConnection, request: Request) -> TurnedAway | None:
        """Refuse whatever comes with a body."""
        return unwanted_body(request, takes_forms=False)

    def refuse(self, reply: HttpReply, refused: TurnedAway) -> None:
        """Say why."""
        reply.respond(refused.status, refused.text.encode(), _TEXT)

    def serve(self, request: Request, reply: HttpReply) -> None:
        """Answer a question."""
        if request.path not in (LIVE, READY):
            reply.respond(404)
        elif request.method not in ("GET", "HEAD"):
            reply.respond(405, lines=b"allow: GET, HEAD\r\n")
        elif request.path == LIVE:
            reply.respond(200, b'{"live":true}', JSON)
        elif self.is_ready:
            reply.respond(200, b'{"ready":true}', JSON)
        else:
            reply.respond(503, b'{"ready":false}', JSON)

    def opened(self, connection: InboundConnection) -> None:
        """Keep a connection; where there is no room, the oldest ends for it."""
        self._connections[connection] = None
        if len(self._connections) > CONNECTIONS:
            self._drop_oldest()

    def closed(self, connection: InboundConnection) -> None:
        """Forget a connection."""
        self._connections.pop(connection, None)

    def _drop_oldest(self) -> bool:
        oldest = next(iter(self._connections), None)
        if oldest is None:
            return False
        self.closed(oldest)
        oldest.abort()
        return True
