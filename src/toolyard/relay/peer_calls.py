"""The ways from this replica to the doors that others have for their peers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final

from toolyard.core.errors import LinkError
from toolyard.relay.passed import pass_answer, pass_notice, pass_request
from toolyard.relay.session import ClientRequest, Send, Session
from toolyard.tasks import Tasks
from toolyard.wire import jsonrpc
from toolyard.wire.jsonrpc import Message
from toolyard.wire.peer_posts import PeerEnd, PeerPosts, PeerReply, error_of, lost

REQUEST: Final = "/request"
ANSWER: Final = "/answer"
NOTICE: Final = "/notice"
WAITING: Final = "/waiting"
WAITING_NEWS: Final = "/waiting-news"
NOTICES: Final = 1000
"""Notices on their way at a time; more are dropped."""


class PeerCalls:
    """Takes requests, answers and notices to other replicas, over connections that are kept."""

    def __init__(self, posts: PeerPosts, limit: int, hear: Callable[[], Awaitable[None]]) -> None:
        """Reach the replicas that are known; an answer has so many bytes at most.

        Args:
            hear: Hears which replicas live now.
        """
        self._known = posts.known
        self._posts = posts
        self._hear = hear
        self._limit = limit
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

    async def ask_about_waiting(self, order: bytes) -> list[Message]:
        """Have all others that can be reached look for calls that wait for a yes."""
        return await _all_that_succeed(
            [self._ask(replica, WAITING, order) for replica in self._others()]
        )

    def tell_others(self, session: Session, notice: Message) -> None:
        """Tell all others what a client has said."""
        self._tell_all(NOTICE, pass_notice(session, notice))

    def tell_of_waiting(self, members: Sequence[str]) -> None:
        """Tell all others whose calls wait for a yes here."""
        self._tell_all(WAITING_NEWS, jsonrpc.encode([self._known.own, *members]))

    def is_known(self, replica: str) -> bool:
        """Whether a replica lives, as far as is known."""
        return replica in self._known.by_id

    async def close(self) -> None:
        """Tell nobody any more."""
        await self._tasks.close()

    def _tell_all(self, path: str, body: bytes) -> None:
        for replica in self._others():
            if self._notices < NOTICES and self._tasks.start(self._tell(replica, path, body)):
                self._notices += 1

    async def _tell(self, replica: str, path: str, body: bytes) -> None:
        try:
            with suppress(LinkError):
                await self._ask(replica, path, body)
        finally:
            self._notices -= 1

    def _others(self) -> list[str]:
        return [id_ for id_ in self._known.by_id if id_ != self._known.own]

    async def _ask(self, replica: str, path: str, body: bytes, emit: Send | None = None) -> Message:
        if replica not in self._known.by_id:  # it may have come since we last heard
            await self._hear()
        answer = _Answer(replica, emit)
        reply = PeerReply(self._limit, answer.heard, answer.ended)
        connection = self._posts.send(replica, path, body, reply)

        def gone() -> None:  # one that is frozen does not hang up
            if not answer.message.done():
                connection.abandon()
                answer.ended(PeerEnd(0, "it is gone"))

        forget = self._known.when_gone(replica, gone)
        try:
            return await answer.message
        finally:
            forget()
            if answer.message.cancelled():
                connection.abandon()


class _Answer:
    """Waits for the answer of a peer; what is said before goes to the client."""

    def __init__(self, replica: str, emit: Send | None) -> None:
        self.message: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._replica = replica
        self._emit = emit

    def heard(self, data: bytes) -> None:
        """Take a message."""
        if self.message.done():
            return
        try:
            message = jsonrpc.decode(data)
        except jsonrpc.MalformedError:
            self.message.set_exception(lost(self._replica, "its answer is no message"))
            return
        if not message.method:
            self.message.set_result(message)
        elif self._emit is not None:
            self._emit(data)

    def ended(self, end: PeerEnd) -> None:
        """There will be no other answer."""
        if self.message.done():
            return
        if end.status == 202:
            self.message.set_result(Message())
        else:
            self.message.set_exception(error_of(self._replica, end))


async def _all_that_succeed(answers: Sequence[Awaitable[Message]]) -> list[Message]:
    results = await asyncio.gather(*answers, return_exceptions=True)
    return [result for result in results if isinstance(result, Message)]
