"""The door for other replicas of this hub: takes what they pass on, and nobody else's word.

It has a port of its own, and looks at no token: whoever has the fleet's key has judged the client.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Final

from toolyard.core.caller import TurnedAway
from toolyard.doors.http.accepting import Acceptor
from toolyard.doors.http.connection import InboundConnection
from toolyard.doors.http.reply import HttpReply, HttpResponder, Request
from toolyard.doors.http.unread import Unread
from toolyard.links.lending import LentLinks, NotHereError
from toolyard.links.loans import LEND, LENT, read_lent, read_order
from toolyard.relay.guests import Guests
from toolyard.relay.passed import read_passed
from toolyard.relay.peer_calls import ANSWER, NOTICE, REQUEST, WAITING, WAITING_NEWS
from toolyard.relay.relay import Relay
from toolyard.relay.session import ClientRequest
from toolyard.relay.session_wishes import SESSION_WISHES
from toolyard.relay.waiting_everywhere import hear_news, serve_order
from toolyard.tasks import Tasks
from toolyard.wire import jsonrpc
from toolyard.wire.envelope import EnvelopeError, read_envelope
from toolyard.wire.passes import PeerPasses
from toolyard.wire.peer_posts import HEADER

CONNECTIONS: Final = 2000
"""Far more than a fleet needs; for a new one the oldest of a stranger ends."""
OVERHEAD: Final = 64 << 10
"""Bytes that tell of the client, beside its message."""
DRAIN_SECONDS: Final = 8.0
_TEXT: Final = b"content-type: text/plain\r\n"
_JSON: Final = b"content-type: application/json\r\n"


class PeerDoor:
    """Serves what other replicas pass on."""

    def __init__(
        self,
        relay: Relay,
        guests: Guests,
        passes: PeerPasses,
        lent: LentLinks,
        unread: Unread,
        limit: int,
    ) -> None:
        """Serve clients of others; a message of theirs has so many bytes at most."""
        self.limit = limit + OVERHEAD
        self.unread = unread
        self._relay = relay
        self._guests = guests
        self._passes = passes
        self._lent = lent
        self._tasks = Tasks()
        self._loans = Tasks()
        self._strangers: dict[InboundConnection, None] = {}
        """Those that have shown no pass yet, the oldest first."""
        self._connections: set[InboundConnection] = set()
        self._ways: dict[str, Callable[[bytes, HttpReply], None]] = {
            LENT: self._lent_message,
            REQUEST: self._request,
            ANSWER: self._answer,
            NOTICE: self._notice,
            WAITING: self._waiting,
            WAITING_NEWS: self._waiting_news,
            LEND: self._lend,
        }

    async def run(self, sock: socket.socket) -> None:
        """Serve until cancelled, then let what is under way finish, within bounds."""
        acceptor = Acceptor(sock, lambda: InboundConnection(self), self._drop_stranger)
        try:
            await asyncio.Event().wait()
        finally:
            await acceptor.close()
            await self._tasks.settle(DRAIN_SECONDS)
            await self._lent.settle(DRAIN_SECONDS)
            await self._loans.close()
            await self._tasks.close()
            for connection in list(self._connections):
                connection.abort()

    # The rules of a connection.

    def refusal(self, connection: InboundConnection, request: Request) -> TurnedAway | None:
        """Turn away whoever has no pass, before anything of the body is read."""
        request.peer_pass = self._passes.open(_pass_of(request))
        if request.peer_pass is None:
            return TurnedAway(401, "a pass of this fleet is needed")
        connection.is_known = True
        self._strangers.pop(connection, None)
        return None

    def refuse(self, reply: HttpReply, refused: TurnedAway) -> None:
        """Say why."""
        reply.respond(refused.status, refused.text.encode(), _TEXT)

    def serve(self, request: Request, reply: HttpReply) -> None:
        """Take in what another replica passes on."""
        if request.peer_pass is None or not self._passes.use(request.peer_pass, request.body):
            self.refuse(reply, TurnedAway(401, "this pass was used, or is for another body"))
            return
        try:
            self._ways[request.path](request.body, reply)
        except (KeyError, EnvelopeError, *jsonrpc.MalformedError):
            self.refuse(reply, TurnedAway(400, "this is nothing that a replica passes on"))

    def opened(self, connection: InboundConnection) -> None:
        """Keep a connection; where there is no room, the oldest of a stranger ends for it."""
        self._connections.add(connection)
        self._strangers[connection] = None
        if len(self._connections) > CONNECTIONS:
            self._drop_stranger()

    def closed(self, connection: InboundConnection) -> None:
        """Forget a connection."""
        self._connections.discard(connection)
        self._strangers.pop(connection, None)

    def _drop_stranger(self) -> bool:
        oldest = next(iter(self._strangers), None)
        if oldest is None:
            return False
        self.closed(oldest)
        oldest.abort()
        return True

    # Links that others use.

    def _lend(self, body: bytes, reply: HttpReply) -> None:
        order = read_order(body)
        responder = HttpResponder(reply, is_modern=False, takes_stream=True)

        async def lend() -> None:
            try:
                await self._lent.lend(order, responder)
            except NotHereError:
                reply.respond(410)

        task = self._loans.start(lend())
        if task is None:
            reply.respond(410)
            return

        def gone() -> None:
            responder.hung_up()
            task.cancel()

        reply.on_gone = gone

    def _lent_message(self, body: bytes, reply: HttpReply) -> None:
        responder = HttpResponder(reply, is_modern=False, takes_stream=True)
        try:
            call = self._lent.take(read_lent(body), responder)
        except NotHereError:
            reply.respond(410)
            return
        if call is None:
            reply.respond(202)
            return

        def gone() -> None:
            responder.hung_up()
            call.abandon()

        reply.on_gone = gone

    # What is passed on.

    def _request(self, body: bytes, reply: HttpReply) -> None:
        passed = read_passed(body)
        envelope = read_envelope(passed.message)
        if envelope.message.method in SESSION_WISHES and not self._guests.has(passed.client):
            reply.respond(410)  # once the session comes here, its notes say it all
            return
        session = self._guests.enter(passed.client)
        responder = HttpResponder(reply, is_modern=False, takes_stream=True)
        request = ClientRequest(
            session,
            envelope.message.method,
            envelope.id,
            envelope.params,
            envelope.meta,
            responder,
            name=envelope.name,
            trace=passed.trace,
            mirrored=passed.mirrored,
            forwarded=passed.forwarded,
            address=passed.address,
            is_passed=True,
        )

        def gone() -> None:
            responder.hung_up()
            request.abandon()

        reply.on_gone = gone
        task = self._tasks.start(self._relay.serve(request))
        if task is None:
            self._guests.leave(session)
            reply.respond(410)
        else:
            task.add_done_callback(lambda _: self._guests.leave(session))

    def _answer(self, body: bytes, reply: HttpReply) -> None:
        passed = read_passed(body)
        answer = jsonrpc.decode(passed.message)
        session = self._guests.find(passed.client)
        is_awaited = session is not None and bytes(answer.id) in session.asks
        if session is not None and is_awaited:
            session.answered(answer)
        reply.respond(202 if is_awaited else 410)

    def _notice(self, body: bytes, reply: HttpReply) -> None:
        passed = read_passed(body)
        session = self._guests.find(passed.client)
        if session is not None:
            self._relay.noticed(session, jsonrpc.decode(passed.message), is_passed=True)
        reply.respond(202)

    def _waiting(self, body: bytes, reply: HttpReply) -> None:
        reply.respond(200, serve_order(self._relay.waiting, body), _JSON)

    def _waiting_news(self, body: bytes, reply: HttpReply) -> None:
        hear_news(self._relay.waiting, body)
        reply.respond(202)


def _pass_of(request: Request) -> str:
    for name, value in request.headers:
        if name == HEADER:
            return value.decode("latin-1")
    return ""
