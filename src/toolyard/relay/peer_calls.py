"""The ways from this replica to the doors that others have for their peers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final

from toolyard.core.errors import LinkError
from toolyard.core.replicas import KnownReplicas
from toolyard.relay.passed import pass_answer, pass_notice, pass_request
from toolyard.relay.peers import unreachable
from toolyard.relay.session import ClientRequest, Send, Session
from toolyard.tasks import Tasks
from toolyard.wire import jsonrpc
from toolyard.wire.http1 import Connection, Headers, Pool, parse_address
from toolyard.wire.jsonrpc import Message
from toolyard.wire.passes import PeerPasses
from toolyard.wire.pieces import Pieces
from toolyard.wire.sse import Events, TooLongError

REQUEST: Final = "/request"
ANSWER: Final = "/answer"
NOTICE: Final = "/notice"
HEADER: Final = b"toolyard-pass"
LOOK_SECONDS: Final = 2.0
"""The pause between two looks whether a replica that is waited for still lives."""
IDLE_SECONDS: Final = 20.0
"""Peers close an idle connection after 30 s."""
NOTICES: Final = 1000
"""Notices on their way at a time; more are dropped."""
_UNSENT: Final = ("cannot connect", "no connection", "the link is closed")


class PeerCalls:
    """Takes requests, answers and notices to other replicas, over connections that are kept."""

    def __init__(
        self,
        known: KnownReplicas,
        passes: PeerPasses,
        limit: int,
        hear: Callable[[], Awaitable[None]],
    ) -> None:
        """Reach the replicas that are known; an answer has so many bytes at most.

        Args:
            hear: Hears which replicas live now.
        """
        self._known = known
        self._hear = hear
        self._passes = passes
        self._limit = limit
        self._pools: dict[str, Pool] = {}
        self._tasks = Tasks()
        self._notices = 0

    async def pass_on(self, replica: str, request: ClientRequest) -> Message:
        """Have a request answered by another replica; what is said before goes to the client.

        Raises:
            LinkError: The replica cannot be reached, or is gone.
        """
        return await self._ask(replica, REQUEST, pass_request(request), request.responder.emit)

    async def pass_answer(self, replica: str, session: Session, answer: Message) -> None:
        """Take a client's answer to the replica that asked.

        Raises:
            LinkError: It cannot be reached, or nobody there waits for it.
        """
        await self._ask(replica, ANSWER, pass_answer(session, answer))

    async def ask_others(self, request: ClientRequest) -> list[Message]:
        """Have a request answered by all others that can be reached."""
        answers = [self.pass_on(replica, request) for replica in self._others()]
        return await _all_that_succeed(answers)

    def tell_others(self, session: Session, notice: Message) -> None:
        """Tell all others what a client has said."""
        body = pass_notice(session, notice)
        for replica in self._others():
            if self._notices < NOTICES and self._tasks.start(self._tell(replica, body)):
                self._notices += 1

    async def close(self) -> None:
        """Hang up; what is under way is lost."""
        await self._tasks.close()
        for pool in self._pools.values():
            await pool.close()

    async def _tell(self, replica: str, body: bytes) -> None:
        try:
            with suppress(LinkError):
                await self._ask(replica, NOTICE, body)
        finally:
            self._notices -= 1

    def _others(self) -> list[str]:
        return [id_ for id_ in self._known.by_id if id_ != self._known.own]

    async def _ask(self, replica: str, path: str, body: bytes, emit: Send | None = None) -> Message:
        if replica not in self._known.by_id:  # it may have come since we last heard
            await self._hear()
        reply = PeerReply(replica, self._limit, emit)
        connection = self._send(replica, path, body, reply)
        try:
            while not (await asyncio.wait([reply.answer], timeout=LOOK_SECONDS))[0]:
                if replica not in self._known.by_id:
                    raise _lost(replica, "it is gone")
            return reply.answer.result()
        finally:
            if not reply.answer.done():
                reply.answer.cancel()
                connection.abandon()

    def _send(self, replica: str, path: str, body: bytes, reply: PeerReply) -> Connection:
        known = self._known.by_id.get(replica)
        if known is None or not known.address:
            raise unreachable(replica)
        if known.address not in self._pools:
            self._forget_gone()
            target = parse_address(f"http://{known.address}/")
            self._pools[known.address] = Pool(target, idle_seconds=IDLE_SECONDS)
        head = (
            f"POST {path} HTTP/1.1\r\nhost: {known.address}\r\n{HEADER.decode()}: "
            f"{self._passes.make(replica, body)}\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        return self._pools[known.address].send(head.encode("latin-1") + body, reply)

    def _forget_gone(self) -> None:
        """Close the connections to addresses where no replica is any more."""
        live = {replica.address for replica in self._known.by_id.values()}
        for address in self._pools.keys() - live:
            self._tasks.start(self._pools.pop(address).close())


class PeerReply:
    """The answer of a peer: JSON, or a stream of events of which the last is the answer."""

    def __init__(self, replica: str, limit: int, emit: Send | None) -> None:
        self.answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._replica = replica
        self._emit = emit
        self._limit = limit
        self._status = 0
        self._events: Events | None = None
        self._body = Pieces()

    def head(self, status: int, headers: Headers) -> None:
        """See of which kind the answer is."""
        self._status = status
        if headers.get(b"content-type", b"").startswith(b"text/event-stream"):
            self._events = Events(self._limit)

    def body(self, chunk: bytes) -> None:
        """Pass on the events that a chunk completes, or keep it."""
        if self._events is None:
            self._body.add(chunk)
            if self._body.size > self._limit:
                self._fail(_lost(self._replica, f"its answer has more than {self._limit} bytes"))
                self._body.take()
            return
        try:
            for event in self._events.feed(chunk):
                self._heard(event.data)
        except TooLongError as error:
            self._fail(_lost(self._replica, str(error)))

    def done(self) -> None:
        """Read the answer, if it was no stream."""
        body = self._body.take()
        if self._status == 202:
            self._succeed(Message())
        elif self._status == 200 and body:
            self._heard(body)
        self._fail(_refused(self._replica, self._status))

    def lost(self, why: str) -> None:
        """There will be no answer."""
        is_unsent = why.startswith(_UNSENT)
        self._fail(unreachable(self._replica) if is_unsent else _lost(self._replica, why))

    def _heard(self, data: bytes) -> None:
        try:
            message = jsonrpc.decode(data)
        except jsonrpc.MalformedError:
            self._fail(_lost(self._replica, "its answer is no message"))
            return
        if message.method:
            if self._emit is not None and not self.answer.done():
                self._emit(data)
        else:
            self._succeed(message)

    def _succeed(self, message: Message) -> None:
        if not self.answer.done():
            self.answer.set_result(message)

    def _fail(self, error: LinkError) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


async def _all_that_succeed(answers: Sequence[Awaitable[Message]]) -> list[Message]:
    results = await asyncio.gather(*answers, return_exceptions=True)
    return [result for result in results if isinstance(result, Message)]


def _lost(replica: str, why: str) -> LinkError:
    text = f"the replica {replica!r} was lost while it worked on this ({why})"
    return LinkError(text, "it may have been carried out; look, then call again")


def _refused(replica: str, status: int) -> LinkError:
    if status == 410:
        return unreachable(replica)
    text = f"the replica {replica!r} does not take this (HTTP {status})"
    return LinkError(text, "give all replicas the same TOOLYARD_KEY; then call again")
