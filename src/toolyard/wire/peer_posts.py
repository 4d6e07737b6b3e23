"""Messages to the doors of other replicas for their peers, over connections that are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from toolyard.core.errors import LinkError
from toolyard.core.replicas import KnownReplicas
from toolyard.tasks import Tasks
from toolyard.wire.http1 import Connection, Headers, Pool, parse_address
from toolyard.wire.passes import PeerPasses
from toolyard.wire.pieces import Pieces
from toolyard.wire.sse import Events, TooLongError

HEADER: Final = b"toolyard-pass"
IDLE_SECONDS: Final = 20.0
"""Peers close an idle connection after 30 s."""
_HEAD: Final = (
    f"POST %s HTTP/1.1\r\nhost: %s\r\n{HEADER.decode()}: %s\r\ncontent-length: %d\r\n\r\n"
)
_UNSENT: Final = ("cannot connect", "no connection", "the link is closed")


class PeerEnd(NamedTuple):
    """The end of an exchange with a peer."""

    status: int
    """The status of HTTP; 0 if the connection was lost."""
    why: str = ""
    """Why it was lost."""

    @property
    def is_unseen(self) -> bool:
        """True if the peer has surely not looked at the message."""
        return self.status == 410 or self.why.startswith(_UNSENT)


class PeerReply:
    """The answer of a peer, message by message: a body of JSON, or a stream of events."""

    __slots__ = ("_body", "_ended", "_events", "_heard", "_is_over", "_limit", "_status")

    def __init__(
        self, limit: int, heard: Callable[[bytes], None], ended: Callable[[PeerEnd], None]
    ) -> None:
        """Tell of every message, and once of the end; one has so many bytes at most."""
        self._limit = limit
        self._heard = heard
        self._ended = ended
        self._status = 0
        self._events: Events | None = None
        self._body = Pieces()
        self._is_over = False

    def head(self, status: int, headers: Headers) -> None:
        """See of which kind the answer is."""
        self._status = status
        if headers.get(b"content-type", b"").startswith(b"text/event-stream"):
            self._events = Events(self._limit)

    def body(self, chunk: bytes) -> None:
        """Pass on the messages that a chunk completes, or keep it."""
        if self._events is None:
            self._body.add(chunk)
            if self._body.size > self._limit:
                self._body.take()
                self._end(PeerEnd(0, f"its answer has more than {self._limit} bytes"))
            return
        try:
            for event in self._events.feed(chunk):
                self._heard(event.data)
        except TooLongError as error:
            self._end(PeerEnd(0, str(error)))

    def done(self) -> None:
        """Pass on a message that was no stream, and end."""
        body = self._body.take()
        if self._status == 200 and body:
            self._heard(body)
        self._end(PeerEnd(self._status))

    def lost(self, why: str) -> None:
        """There will be no more."""
        self._end(PeerEnd(0, why))

    def _end(self, end: PeerEnd) -> None:
        if not self._is_over:
            self._is_over = True
            self._ended(end)


class PeerPosts:
    """Sends messages to other replicas, each with a pass."""

    def __init__(self, known: KnownReplicas, passes: PeerPasses) -> None:
        self.known = known
        self._passes = passes
        self._pools: dict[str, Pool] = {}
        self._tasks = Tasks()

    def send(self, replica: str, path: str, body: bytes, reply: PeerReply) -> Connection:
        """Send a message.

        Raises:
            LinkError: No such replica can be reached.
        """
        known = self.known.by_id.get(replica)
        if known is None or not known.address:
            raise unreachable(replica)
        pool = self._pools.get(known.address) or self._dial(known.address)
        head = _HEAD % (path, known.address, self._passes.make(replica, body), len(body))
        return pool.send(head.encode("latin-1") + body, reply)

    async def close(self) -> None:
        """Hang up; what is under way is lost."""
        await self._tasks.close()
        for pool in self._pools.values():
            await pool.close()

    def _dial(self, address: str) -> Pool:
        """Have connections to an address from now on."""
        self._forget_gone()
        pool = Pool(parse_address(f"http://{address}/"), idle_seconds=IDLE_SECONDS)
        self._pools[address] = pool
        return pool

    def _forget_gone(self) -> None:
        """Close the connections to addresses where no replica is any more."""
        live = {replica.address for replica in self.known.by_id.values()}
        for address in self._pools.keys() - live:
            self._tasks.start(self._pools.pop(address).close())


def unreachable(replica: str) -> LinkError:
    """The error for what only another replica has."""
    text = f"this is held by another replica, {replica!r}, which cannot be reached"
    return LinkError(text, "call again")


def lost(replica: str, why: str) -> LinkError:
    """The error for what another replica was working on."""
    text = f"the replica {replica!r} was lost while it worked on this ({why})"
    return LinkError(text, "it may have been carried out; look, then call again")


def refused(replica: str, status: int) -> LinkError:
    """The error for what another replica does not take."""
    text = f"the replica {replica!r} does not take this (HTTP {status})"
    return LinkError(text, "give all replicas the same TOOLYARD_KEY; then call again")


def error_of(replica: str, end: PeerEnd) -> LinkError:
    """The error for an exchange that ended without an answer."""
    if end.is_unseen:
        return unreachable(replica)
    return refused(replica, end.status) if end.status else lost(replica, end.why)
