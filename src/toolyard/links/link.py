"""One live MCP connection to one server, shared by any number of callers.

Every request gets a number of our own, so callers that count alike never get
each other's answers. What the server says before an answer goes to the caller
that caused it; what cannot be attributed goes to nobody and is counted. A server
that asks without saying whom serves one client at a time from then on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from msgspec import Raw

from toolyard.core.errors import BusyError, LinkError, LinkTimeoutError
from toolyard.core.last_words import RECENT, explain
from toolyard.core.model import Peer
from toolyard.links.deadlines import Deadlines
from toolyard.links.follows import FollowedHere
from toolyard.links.notice_rate import NoticeRate
from toolyard.links.open_questions import OpenQuestions
from toolyard.links.pending import (
    Channel,
    PendingRequest,
    QuestionHook,
    Requester,
    RequestUnderWay,
    ignore_question,
)
from toolyard.links.suspects import Suspects
from toolyard.links.turns import Turns
from toolyard.links.waiting_line import PlaceInLine, WaitingLine
from toolyard.records.secrets.mask import MASK
from toolyard.tasks import Tasks
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Message

if TYPE_CHECKING:
    from toolyard.core.leases import Lease

log = logging.getLogger(__name__)

HARD_CAP_SECONDS: Final = 600.0
"""Progress keeps a call alive, but not for ever."""
VIOLATIONS_ALLOWED: Final = 1000
"""Lines that are no messages, answers nobody asked for: beyond this many it does not talk to us."""
CALLS_ALLOWED: Final = 512
"""Requests that may be under way at one server when a client sends one more; others wait."""
LINE_SECONDS: Final = 30.0
"""The time that a call waits for a place, if nobody has said."""
_BRACE: Final = ord("{")
_EMPTY: Final = Raw(b"{}")


class Link:
    """Requests go out under our own numbers; answers come back to whoever waits."""

    # Known once it is opened.
    _channel: Channel
    local: tuple[str, int] | None = None
    """The host and port that it listens on, if it is a server of this machine that does."""
    lease: Lease | None = None
    """The lease under which its process runs here; None if it has none, or runs elsewhere."""
    greeted_after = 0.0
    """Seconds from the start of the server, or the first request to it, to its greeting."""
    keeps_folders = False
    """True if the server asks for folders on its own account, and keeps them for every call."""

    # Counted from here on.
    unattributed = 0
    """Messages that could not be attributed, and went to nobody."""
    dropped = 0
    violations = 0

    def __init__(
        self,
        name: str,
        patience: float,
        *,
        where: str = "",
        declares: era.Capabilities | None = None,
        home: Requester | None = None,
        on_asked: QuestionHook = ignore_question,
        line_seconds: float = LINE_SECONDS,
    ) -> None:
        self.name = name
        self.patience = patience
        self.line = WaitingLine(name, CALLS_ALLOWED, line_seconds, self._send_waiting)
        """Calls that wait until there are fewer under way."""
        self.where = where
        """The place where the server runs, for people; empty if nobody here started it."""
        self.peer = Peer(era="legacy", version="")
        self.capabilities: era.Capabilities = {}
        self.closed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.retired: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Done once whoever calls from then on is to have the next link; says why."""
        self.follows = FollowedHere()
        self.on_notice: Callable[[str, bytes], None] = _ignore
        self.listeners: list[Callable[[str, bytes], None]] = []
        """Others who hear the same: replicas that use the link."""
        self.on_unauthorized: Callable[[LinkError, bool], Awaitable[None]] = _give_up
        """Finds something newer to be let in with, when the server refused a request, or refused
        it again; raises what the request fails of."""
        self.authorize: Callable[[str], None] = _pass
        """Gives the channel something else to be let in with, where that can be."""
        self.forwards: tuple[tuple[bytes, bytes], ...] = ()
        """The headers of callers, in lower case, that go on to the server, and their names there;
        nearly always none."""
        self.used_at = asyncio.get_running_loop().time()
        """When a client last asked something of it, by the loop's clock."""
        self.declares = declares
        """The capabilities that the server is told of, if it is one client's alone."""
        self.home = home
        """The client that hears what belongs to no call, if the server is its alone."""
        self.on_asked = on_asked
        """Hears of every question that names no call."""
        self.turns: Turns | None = None
        """In which order clients call, if the server asks without saying whom."""
        self.tasks = Tasks()
        self.questions = OpenQuestions(self._reply, self.tasks)
        """The questions of the server that wait for an answer."""
        self._suspects: Suspects | None = None
        self._loop = asyncio.get_running_loop()
        self._pending: dict[bytes, PendingRequest] = {}
        self._number = 0
        self._deadlines = Deadlines(lambda: self._pending.values(), self._expire)
        self._notice_rate = NoticeRate(self.used_at)

    def attach(self, channel: Channel, local: tuple[str, int] | None = None) -> None:
        """Give the link what carries its messages, to a port of this machine or elsewhere."""
        self._channel = channel
        self.local = local

    @property
    def peer(self) -> Peer:
        """The server, as it greeted us."""
        return self._peer

    @peer.setter
    def peer(self, peer: Peer) -> None:
        self._peer = peer
        self.is_modern = peer.era == "modern"
        """True if the server speaks the modern era with us; kept apart, for every call asks."""

    @property
    def load(self) -> int:
        """The number of requests under way."""
        return len(self._pending)

    @property
    def calls(self) -> int:
        """The number of clients' requests that are under way, or wait for their turn or a place."""
        waiting = self.turns.waiting if self.turns is not None else 0
        return len(self._requesters()) + len(self.line) + waiting

    def under_way(self) -> list[RequestUnderWay]:
        """Return the clients' requests under way; those that may stay open for ever are none."""
        now, places = self._loop.time(), self.line.places
        return [
            RequestUnderWay(
                p.requester, now - p.began, self.questions.asks_for(p), p.number in places
            )
            for p in (*self._pending.values(), *self.line)
            if p.requester is not None and p.patience
        ]

    def take_turns(self) -> None:
        """Let one client call at a time: the server's questions do not say whom they are for."""
        if self.turns is not None or self.is_modern:
            return
        calls = [(p, p.requester) for p in (*self._pending.values(), *self.line)]
        theirs = [(pending, requester.turn) for pending, requester in calls if requester]
        self.turns = Turns(self.name, [turn for _, turn in theirs])
        for pending, _ in theirs:
            pending.when_answered(self.turns.leave)

    @property
    def pid(self) -> int:
        """The process of the server; 0 if it has none of ours."""
        return self._channel.pid

    @property
    def trace(self) -> tuple[str, ...]:
        """The last lines of the server's stderr."""
        return self._channel.trace

    def next_number(self) -> int:
        """The number the next request will have; progress tokens are made of it."""
        return self._number + 1

    def request(
        self,
        method: str,
        params: bytes,
        requester: Requester | None = None,
        *,
        head: bytes = b"",
        patience: float | None = None,
    ) -> PendingRequest:
        """Send a request; the answer arrives in its future.

        A patience of 0 means that the request may stay open for ever.
        """
        self._number += 1
        number = self._number
        pending = PendingRequest(number, method, requester, self._loop.create_future())
        if self.closed.done():
            pending.fail(LinkError(f"{self.name!r} {self.closed.result()}"))
            return pending
        if requester is not None and len(self._pending) >= CALLS_ALLOWED:
            self._wait_in_line(pending, requester, params, head, patience)
            return pending
        self._pending[b"%d" % number] = pending
        wait = self.patience if patience is None else patience
        if wait:
            now = self._loop.time()
            if requester is not None:
                self.used_at = now
            pending.patience, pending.began = wait, now
            pending.deadline, pending.cap = now + wait, now + HARD_CAP_SECONDS
            if self._deadlines.timer is None:
                self._deadlines.begin(wait, now)
        self._channel.send(jsonrpc.request(number, method, params), pending, head)
        return pending

    def _wait_in_line(
        self,
        pending: PendingRequest,
        requester: Requester,
        params: bytes,
        head: bytes,
        patience: float | None,
    ) -> None:
        """Send a request once there is room for it; its time begins now."""
        self.used_at = pending.began = self._loop.time()
        pending.patience = self.patience if patience is None else patience
        try:
            self.line.join(pending, requester.lane, params, head)
        except BusyError as error:
            pending.fail(error)

    def _send_waiting(self, place: PlaceInLine, waited: float) -> None:
        """Send a request that has waited in line, which took that much of its time."""
        pending, now = place.pending, self._loop.time()
        self._pending[b"%d" % pending.number] = pending
        if wait := pending.patience:
            pending.deadline = now + wait - waited
            pending.cap = now + HARD_CAP_SECONDS - waited
            if self._deadlines.timer is None:
                self._deadlines.begin(wait - waited, now)
        try:
            message = jsonrpc.request(pending.number, pending.method, place.params)
            self._channel.send(message, pending, place.head)
        except Exception as failure:
            # It is of this call alone, not of the one whose answer made room.
            self.fail(pending, failure)

    def _move_line(self) -> None:
        """Send requests that wait, as far as there is room."""
        if self.line.places:
            self.line.move(lambda: len(self._pending) < CALLS_ALLOWED)

    def notify(self, method: str, params: bytes = b"") -> None:
        """Send a notification."""
        if not self.closed.done():
            self._channel.send(jsonrpc.notification(method, params), None, b"")

    async def ask(self, method: str, params: bytes = b"{}", patience: float | None = None) -> bytes:
        """Send a request of the hub's own and wait for its result.

        Raises:
            LinkError: The server refused, failed or was late.
        """
        pending = self.request(method, params, patience=patience)
        try:
            message = await pending.answer
        except asyncio.CancelledError:
            self.cancel(pending, "no longer needed")
            raise
        if message.error:
            raise RequestRefusedError(self.name, method, jsonrpc.read_fault(message.error))
        return bytes(message.result)

    def cancel(self, pending: PendingRequest, reason: str) -> None:
        """Stop waiting, and tell the server that nobody waits."""
        key = b"%d" % pending.number
        if self._pending.pop(key, None) is None:
            if self.line.leave(pending.number) and not pending.answer.done():
                pending.answer.cancel()  # the server has never heard of it
            return
        if self._suspects is not None and key in self._suspects:
            self._suspects = None  # whether its answer would have come, nobody will know
        if not pending.answer.done():
            pending.answer.cancel()
        if self._channel.cancel_by_message:
            params = b'{"requestId":%d,"reason":%b}' % (pending.number, jsonrpc.encode(reason))
            self.notify("notifications/cancelled", params)
        self.questions.drop(pending, reason)
        self._channel.drop(pending)
        self._move_line()

    def take_back(self, number: int, reason: str) -> None:
        """Cancel a request by its number, if it is still under way, or waits."""
        pending = self._pending.get(b"%d" % number) or self.line.find(number)
        if pending is not None:
            self.cancel(pending, reason)

    def fail(self, pending: PendingRequest, error: Exception) -> None:
        """End a request that the channel could not carry."""
        if self._pending.pop(b"%d" % pending.number, None) is not None:
            pending.fail(error)
            self._move_line()

    def retire(self, why: str) -> None:
        """Let calls that are under way finish; whoever calls from now on gets the next link."""
        if not self.retired.done():
            self.retired.set_result(why)

    def lose(self, why: str, hint: str = "") -> None:
        """The connection has ended: every open request fails, once."""
        if self.closed.done():
            return
        self.closed.set_result(why)
        self._deadlines.stop()
        unanswered, self._pending = self._pending, {}
        if unanswered:
            lost = LinkError(f"{self.name!r} {why}", hint)
            explain(lost, self.trace[-RECENT:])
            for pending in unanswered.values():
                error = LinkError(str(lost), lost.hint)
                error.trace = lost.trace  # or whoever opened the link would explain it again
                pending.fail(error)
        self.line.end(why, hint)

    # What the server says.

    def receive(self, raw: bytes, via: PendingRequest | None = None) -> None:
        """Take one message; `via` is the request on whose own stream it came, if it has one."""
        try:
            message = jsonrpc.read(raw)
        except jsonrpc.MalformedError:
            self._malformed(raw, via)
            return
        if not message.method:
            self._answered(message, via)
        elif message.id:
            self._asked(message, via)
        else:
            self._noticed(message, via)

    def _malformed(self, raw: bytes, via: PendingRequest | None) -> None:
        """Note it; a request that it begins to answer gets no other answer, and fails at once."""
        pending = self._pending.get(jsonrpc.claimed_id(raw))
        if pending is not None and via in (None, pending):
            text = (
                f"{self.name!r} answered {pending.method} with what is not JSON, or nests too deep"
            )
            self.fail(pending, LinkError(text, "report it to whoever makes the server"))
        self._count_violation()

    def _answered(self, message: Message, via: PendingRequest | None) -> None:
        key = bytes(message.id)
        pending = self._pending.get(key)
        if pending is None or (via is not None and via is not pending):
            # An error without an id answers the request whose stream it came on.
            if via is None or key not in (b"", b"null") or not message.error:
                self._count_violation()
                return
            pending, key = via, b"%d" % via.number
        if not (message.result or message.error):
            self._count_violation()
            return
        if message.error:
            message.error = jsonrpc.well_formed(message.error)
        elif memoryview(message.result)[0] != _BRACE and not self._mend(message, pending):
            return
        self._pending.pop(key, None)
        if self._suspects is not None:
            self._suspects.clear(key)
            self._look_at(self._suspects)
        # It does talk to us: a line of chatter beside each answer must not add up to a breach.
        self.violations = 0
        if not pending.answer.done():
            pending.answer.set_result(message)
        if self.line.places:
            self._move_line()

    def _mend(self, message: Message, pending: PendingRequest) -> bool:
        """Take null for an empty result; a request that is answered with anything else fails.

        A client that cannot read an answer would wait for it without end.
        """
        if bytes(message.result) == b"null":
            message.result = _EMPTY
            return True
        text = f"{self.name!r} answered {pending.method} with a result that is no object"
        self.fail(pending, LinkError(text, "report it to whoever makes the server"))
        self._count_violation()
        return False

    def skip(self, glimpse: jsonrpc.Glimpse, limit: int, *, is_over: bool) -> bool:
        """A message is too long to be read; only the call whose answer it is fails.

        False if its end may tell more.
        """
        is_answer = glimpse.is_answer is not False
        if not is_over and not (is_answer and (glimpse.id or len(self._pending) == 1)):
            return False
        self.dropped += 1
        if is_answer and glimpse.id:
            self._fail_dropped({glimpse.id}, limit)
        elif is_answer and self._pending:
            self._suspects = self._suspects or Suspects(limit)
            self._suspects.add(self._pending)
            self._look_at(self._suspects)
        elif glimpse.id:
            self.questions.refuse(glimpse.id, f"the question is larger than {limit} bytes")
        return True

    def _look_at(self, suspects: Suspects) -> None:
        """Fail the calls whose answers must have been dropped, as soon as that is certain."""
        if dropped := suspects.found:
            self._suspects = None
            self._fail_dropped(dropped, suspects.limit)

    def _fail_dropped(self, calls: set[bytes], limit: int) -> None:
        text = f"{self.name!r} sent a message of more than {limit} bytes"
        for pending in [self._pending[call] for call in calls if call in self._pending]:
            self.fail(
                pending, LinkError(text, "ask for less at once, or raise server_message_limit")
            )

    def _noticed(self, message: Message, via: PendingRequest | None) -> None:
        method, params = message.method, bytes(message.params)
        if method in _FOR_THE_HUB:
            self.on_notice(method, params)
            for listener in self.listeners:
                listener(method, params)
        elif method == "notifications/progress":
            self._progressed(params)
        elif method == "notifications/cancelled":
            if self._within_rate(None):
                self._withdrawn(params)
        else:
            self._pass_on(method, params, via or self._attribute())

    def _pass_on(self, method: str, params: bytes, pending: PendingRequest | None) -> None:
        requester = pending.requester if pending is not None else None
        requester = requester or self.home
        if not self._within_rate(pending):
            return
        if requester is not None:
            requester.notify(method, params)
            return
        self.unattributed += 1
        self.on_notice(method, params)

    def _within_rate(self, pending: PendingRequest | None) -> bool:
        fits = self._notice_rate.has_room(pending, self._loop.time())
        self.dropped += not fits
        return fits

    def _progressed(self, params: bytes) -> None:
        try:
            token = bytes(jsonrpc.fields(params).get("progressToken", b""))
        except jsonrpc.MalformedError:
            self._count_violation()
            return
        pending = self._pending.get(token)
        if pending is None or pending.requester is None:
            self.unattributed += 1
            return
        if not self._within_rate(pending):
            return
        if pending.patience:
            pending.deadline = self._loop.time() + pending.patience
        pending.requester.notify("notifications/progress", params)

    def _asked(self, message: Message, via: PendingRequest | None) -> None:
        if message.method == "ping":
            self._reply(jsonrpc.result(message.id, b"{}"))
            return
        pending = None if self._is_for_process(message) else via or self._attribute(asks=True)
        requester = pending.requester if pending is not None else None
        requester = requester or self.home
        if via is None or pending is None:
            other = self._note_question(message.method)
            requester = requester or other
        if requester is None:
            self.unattributed += 1
            self._reply(_unattributed(message))
        elif bytes(message.id) in self.questions:
            self._count_violation()
        else:
            self.questions.put(message, pending, requester)

    def _withdrawn(self, params: bytes) -> None:
        try:
            self.questions.withdraw(bytes(jsonrpc.fields(params).get("requestId", b"")))
        except jsonrpc.MalformedError:
            self._count_violation()

    def _reply(self, message: bytes) -> None:
        if not self.closed.done():
            self._channel.send(message, None, b"")

    def _attribute(self, *, asks: bool = False) -> PendingRequest | None:
        """A call of the client that must have caused a message without an address.

        If all calls under way are one client's, the message is theirs; with several nobody can
        tell. One that waits for an answer counts too: it may ask again, or log, at any time.
        """
        last, whose = None, set()
        for pending in self._pending.values():
            if pending.requester is not None:
                last = pending
                whose.add(pending.requester.turn if asks else pending.requester.client)
        return last if len(whose) == 1 else None

    def _is_for_process(self, message: Message) -> bool:
        """Tell whether a server asks for folders to keep, so that no call may answer for it."""
        return self.keeps_folders and message.method == "roots/list"

    def _note_question(self, method: str) -> Requester | None:
        """Remember that the server asks without saying whom, for the calls to come."""
        requesters = self._requesters()
        outside = method == "roots/list" and (self.keeps_folders or not requesters)
        if outside:
            self.keeps_folders = True
        else:
            self.take_turns()
        return self.on_asked(method, outside, requesters)

    def _requesters(self) -> list[Requester]:
        return [p.requester for p in self._pending.values() if p.requester is not None]

    def _count_violation(self) -> None:
        self.violations += 1
        if self.violations > VIOLATIONS_ALLOWED:
            self.lose(f"sent more than {VIOLATIONS_ALLOWED} messages that make no sense")

    def _expire(self, pending: PendingRequest) -> None:
        text = f"{self.name!r} did not answer {pending.method} within {pending.patience:g} s"
        pending.fail(LinkTimeoutError(text, "raise its timeout, or look at its log"))
        self.cancel(pending, "timed out")


class RequestRefusedError(LinkError):
    """A server answered a request of ours with an error."""

    def __init__(self, name: str, method: str, fault: jsonrpc.Fault) -> None:
        # Hidden before it is cut: nobody would know the beginning of a secret as one.
        message = MASK.hide(fault.message)[:500]
        super().__init__(f"{name!r} refused {method}: {message} ({fault.code})")
        self.fault = fault


_FOR_THE_HUB: Final = frozenset(
    {
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/subscriptions/acknowledged",
        "notifications/tasks",
        "notifications/tasks/status",
        "notifications/elicitation/complete",
    }
)
"""Notifications that concern everybody who listens, not one call."""


def _unattributed(message: Message) -> bytes:
    if message.method == "roots/list":
        # Asked on nobody's behalf: there is no one whose folders these could be.
        return jsonrpc.result(message.id, b'{"roots":[]}')
    text = f"no single client caused this {message.method}, so nobody can answer it"
    return jsonrpc.error(message.id, jsonrpc.fault(era.METHOD_NOT_FOUND, text))


def _pass(*_: object) -> None:
    return None


async def _give_up(error: LinkError, _again: bool) -> None:
    raise error


def _ignore(_method: str, _params: bytes) -> None:
    return None
