"""A link whose other end is another replica, which runs the server and lends its own link."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import msgspec

from toolyard.core.errors import LinkError
from toolyard.links.http import SessionLostError
from toolyard.links.link import Link
from toolyard.links.loans import (
    FAILED,
    GRANTED,
    LEND,
    LENT,
    LentMessage,
    Loan,
    LoanOrder,
    is_own,
    read_end,
    read_failure,
    read_loan,
)
from toolyard.links.owner import Owner
from toolyard.links.patience import Patience
from toolyard.links.pending import PendingRequest
from toolyard.wire import jsonrpc
from toolyard.wire.http1 import Connection
from toolyard.wire.peer_posts import PeerEnd, PeerPosts, PeerReply, error_of, lost


class NotLentError(LinkError):
    """The replica does not run the server, or not any more."""


class MovedError(SessionLostError):
    """The replica has given the server up before it looked at the request: it may be sent again."""


class Borrower:
    """Borrows links of other replicas."""

    def __init__(self, posts: PeerPosts, patience: Patience, limit: int) -> None:
        """Use links of others; one message of a server has so many bytes at most."""
        self._posts = posts
        self._patience = patience
        self._limit = limit

    @asynccontextmanager
    async def borrow(
        self, replica: str, order: LoanOrder, timeout: float | None, owner: Owner
    ) -> AsyncIterator[Link]:
        """Give a link to a server of another replica; leaving gives it back.

        Raises:
            NotLentError: The server is not there.
            LinkError: It could not be started there.
        """
        link = Link(
            order.name,
            self._patience.call if timeout is None else timeout,
            home=owner.home,
            line_seconds=self._patience.line,
        )
        channel = BorrowedChannel(link, replica, self._posts, self._limit)
        try:
            loan = await channel.open(order, self._patience.open)
            link.peer = loan.peer
            link.capabilities = jsonrpc.to_python(loan.capabilities)
            link.where = f"{loan.where} of replica {replica}"
            yield link
        finally:
            link.lose("was stopped")
            channel.close()
            await link.tasks.close()


class BorrowedChannel:
    """Carries messages to the replica that runs the server, and back."""

    trace: tuple[str, ...] = ()
    pid = 0
    cancel_by_message = False
    """Hanging up is the cancellation."""

    def __init__(self, link: Link, replica: str, posts: PeerPosts, limit: int) -> None:
        self._link = link
        self._replica = replica
        self._posts = posts
        self._limit = limit
        self._loan: asyncio.Future[Loan] = asyncio.get_running_loop().create_future()
        self._number = 0
        self._stream: Connection | None = None
        # One that is frozen does not hang up.
        self._forget = posts.known.when_gone(replica, self._gone)
        link.attach(self)

    async def open(self, order: LoanOrder, seconds: float) -> Loan:
        """Wait until the replica lends its link, which may have to be opened first."""
        reply = PeerReply(self._limit, self._told, self._ended)
        body = msgspec.msgpack.encode(order)
        self._stream = self._send(LEND, body, reply)
        try:
            async with asyncio.timeout(seconds):
                loan = await self._loan
        except TimeoutError:
            text = f"{self._link.name!r} is not ready at the replica {self._replica!r}"
            raise LinkError(f"{text} after {seconds:g} s", "call again") from None
        self._number = loan.number
        return loan

    def close(self) -> None:
        """Give the link back."""
        self._forget()
        self._loan.cancel()
        if self._stream is not None:
            self._stream.abandon()

    # What the link asks for.

    def send(self, message: bytes, pending: PendingRequest | None, head: bytes) -> None:
        """Have the replica send one message to the server."""
        requester = pending.requester if pending is not None else None
        client = turn = lane = None
        if requester is not None:
            client, turn = hash(requester.client), hash(requester.turn)
            lane = hash(requester.lane)
        body = msgspec.msgpack.encode(LentMessage(self._number, message, client, turn, lane))
        if pending is None:
            self._post(body, PeerReply(self._limit, _ignore, _ignore))
            return
        heard, ended = partial(self._heard, pending), partial(self._answered, pending)
        pending.tag = self._post(body, PeerReply(self._limit, heard, ended))

    def drop(self, pending: PendingRequest) -> None:
        """Hang up on a request that nobody waits for."""
        if isinstance(pending.tag, Connection):
            pending.tag.abandon()

    def _post(self, body: bytes, reply: PeerReply) -> Connection | None:
        try:
            return self._send(LENT, body, reply)
        except NotLentError:
            reply.lost("no connection")
            return None

    def _send(self, path: str, body: bytes, reply: PeerReply) -> Connection:
        try:
            return self._posts.send(self._replica, path, body, reply)
        except LinkError as error:
            raise NotLentError(str(error), error.hint) from error

    # What the replica says to a request.

    def _heard(self, pending: PendingRequest, data: bytes) -> None:
        if not is_own(data):
            self._link.receive(data, pending)
            return
        message = jsonrpc.decode(data)
        if message.method == FAILED:
            pending.tag = None
            self._link.fail(pending, read_failure(message.params).error)

    def _answered(self, pending: PendingRequest, end: PeerEnd) -> None:
        pending.tag = None  # the connection may carry somebody else's request from now on
        if pending.answer.done():
            return
        if end.is_unseen:
            self._link.retire(f"is not at the replica {self._replica!r} any more")
            self._link.fail(pending, MovedError(f"{self._link.name!r} moves to another replica"))
            return
        if not end.status:
            # The replica may be gone: whoever calls next asks again where the server is, rather
            # than finding out by the loss of its own call.
            self._link.retire(f"has lost a connection to the replica {self._replica!r}")
        self._link.fail(pending, error_of(self._replica, end))

    # What the replica says of the link.

    def _told(self, data: bytes) -> None:
        if not is_own(data):
            self._link.receive(data)
            return
        message = jsonrpc.decode(data)
        if message.method == GRANTED:
            if not self._loan.done():
                self._loan.set_result(read_loan(message.params))
        elif message.method == FAILED:
            self._refuse(read_failure(message.params).error)
        else:
            end = read_end(message.params)
            if end.is_lost:
                self._link.lose(end.why)
            else:
                self._link.retire(end.why)

    def _ended(self, end: PeerEnd) -> None:
        """The stream is over; calls whose link was given back still get their answers."""
        self._stream = None
        if end.is_unseen:
            text = f"{self._link.name!r} is not at the replica {self._replica!r}"
            self._refuse(NotLentError(text, "call again"))
        elif not self._loan.done():
            error = error_of(self._replica, end)
            # Nothing is carried out twice by asking for a link again.
            self._refuse(error if end.status else NotLentError(str(error), "call again"))
        elif not self._link.retired.done():
            self._lose(end.why or "it hung up")

    def _refuse(self, error: LinkError) -> None:
        if not self._loan.done():
            self._loan.set_exception(error)

    def _lose(self, why: str) -> None:
        error = lost(self._replica, why)
        self._link.lose(f"was at a replica that is gone: {error}", error.hint)

    def _gone(self) -> None:
        """Let go of a replica that is gone for the others, though it has not hung up."""
        self._refuse(NotLentError(f"the replica {self._replica!r} is gone", "call again"))
        self._lose("it is gone")


def _ignore(_: object) -> None:
    """Hear nothing."""
