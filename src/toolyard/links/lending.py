"""Lends links to other replicas: their calls go to the server that this one runs, as its own do."""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections.abc import Callable
from typing import Final, Protocol

from msgspec import Raw

from toolyard.core.endpoint import fingerprint
from toolyard.core.errors import LinkError, ToolyardError
from toolyard.core.leases import Lease, lease_key
from toolyard.links.instances import Instances
from toolyard.links.keeper import Keeper
from toolyard.links.link import Link
from toolyard.links.listening import members_of, read_topics
from toolyard.links.loans import LentMessage, Loan, LoanOrder, fail, give_back, grant
from toolyard.links.pending import PendingRequest
from toolyard.links.pool import LinkPool
from toolyard.tasks import Tasks
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Message

OPEN_SECONDS: Final = 60.0
"""The borrower has a patience of its own, and hangs up."""
_EMPTY: Final = Raw(b"{}")


class PeerOutlet(Protocol):
    """The way back to the replica that sent something."""

    def emit(self, message: bytes) -> None:
        """Say something before the answer."""
        ...

    def answer(self, message: bytes, error: Raw) -> None:
        """Say the last thing."""
        ...


class HeldLeases(Protocol):
    """Knows which leases are this hub's."""

    def has(self, lease: Lease) -> bool:
        """True if the lease is this hub's for sure."""
        ...

    def has_key(self, key: str) -> bool:
        """True if this hub has the lease of that process."""
        ...


class NotHereError(Exception):
    """What another replica looks for is not here: it was not looked at."""


class LentLinks:
    """The links that other replicas use."""

    def __init__(
        self,
        pool: LinkPool,
        instances: Instances,
        leases: HeldLeases,
        is_leaving: Callable[[], bool],
    ) -> None:
        """Lend links; a hub that is leaving opens none for others."""
        self._is_leaving = is_leaving
        self._pool = pool
        self._instances = instances
        self._leases = leases
        self._lent: dict[int, LentLink] = {}
        self._tasks = Tasks()

    async def settle(self, seconds: float) -> None:
        """Wait until the calls of borrowers that are under way have ended, so long at most."""
        calls = [call for lent in self._lent.values() for call in lent.under_way]
        if calls:
            await asyncio.wait(calls, timeout=seconds)

    async def close(self) -> None:
        """Lend nothing any more."""
        await self._tasks.close()

    async def lend(self, order: LoanOrder, outlet: PeerOutlet) -> None:
        """Lend a link, opened first if need be, until it ends; cancelled if it is given back.

        Raises:
            NotHereError: Its server is not, or not any more, this hub's to run.
        """
        keeper = self._find(order)
        self._check(order, keeper)
        try:
            link = await keeper.lease(OPEN_SECONDS)
        except ToolyardError as error:
            outlet.answer(fail(error), jsonrpc.NOTHING)
            return
        if link.lease is None or not self._leases.has(link.lease) or link.retired.done():
            raise NotHereError
        lent = LentLink(secrets.randbits(62), keeper, link, link.lease, self._tasks)
        self._lent[lent.number] = lent
        try:
            await lent.live(outlet)
        finally:
            del self._lent[lent.number]

    def take(self, passed: LentMessage, outlet: PeerOutlet) -> LentCall | None:
        """Take a message of a borrower; gives the call that it begins, if it does.

        Raises:
            NotHereError: The link was given up.
        """
        lent = self._lent.get(passed.loan)
        if lent is None or not self._leases.has(lent.lease):
            raise NotHereError
        return lent.take(passed, outlet)

    def _check(self, order: LoanOrder, keeper: Keeper) -> None:
        """Refuse to open a link that is another's to open: two would wait for each other."""
        is_open = keeper.link is not None and keeper.link.lease is not None
        key = lease_key(order.server, order.apart, order.owner)
        may_open = not self._is_leaving() and (order.is_first or self._leases.has_key(key))
        if not is_open and not may_open:
            raise NotHereError

    def _find(self, order: LoanOrder) -> Keeper:
        keeper = self._pool.keepers.get(order.server)
        if order.apart:
            instance = self._instances.named(order.apart, order.owner)
            keeper = instance.keeper if instance is not None else None
        if keeper is None or fingerprint(keeper.server.endpoint) != order.launch:
            raise NotHereError
        return keeper


class LentLink:
    """One link that one other replica uses."""

    def __init__(self, number: int, keeper: Keeper, link: Link, lease: Lease, tasks: Tasks) -> None:
        self.number = number
        self.keeper = keeper
        self.link = link
        self.lease = lease
        self.tasks = tasks
        self.asks: dict[bytes, asyncio.Future[Message]] = {}
        """Questions of the server to clients of the other replica, by raw id."""
        self.under_way: set[asyncio.Future[Message]] = set()
        self._ids = itertools.count(1)

    async def live(self, outlet: PeerOutlet) -> None:
        """Tell the other replica what the server says unasked, until the link ends."""
        link, peer = self.link, self.link.peer

        def told(method: str, params: bytes) -> None:
            if method != "notifications/subscriptions/acknowledged":
                outlet.emit(jsonrpc.notification(method, params))

        self.keeper.loans.add(self)
        link.listeners.append(told)
        capabilities = Raw(peer.capabilities)
        about = peer.era, peer.version, peer.name, peer.release, capabilities, peer.instructions
        outlet.emit(grant(Loan(self.number, *about, link.where)))
        try:
            await asyncio.wait((link.retired, link.closed), return_when=asyncio.FIRST_COMPLETED)
            if not link.closed.done():
                outlet.emit(give_back(link.retired.result(), is_lost=False))
                # Calls that are under way go on, and may ask.
                await asyncio.wait((link.closed,))
        finally:
            is_lost = link.closed.done() and not link.retired.done()
            why = link.closed.result() if link.closed.done() else "its replica leaves"
            outlet.answer(give_back(why, is_lost=is_lost), jsonrpc.NOTHING)
            self.keeper.loans.discard(self)
            link.listeners.remove(told)
            self._unfollow()

    def take(self, passed: LentMessage, outlet: PeerOutlet) -> LentCall | None:
        """Take a message; gives the call that it begins, if it does."""
        message = jsonrpc.read(passed.message)
        if not message.method:
            answer = self.asks.get(bytes(message.id))
            if answer is not None and not answer.done():
                answer.set_result(message)
            return None
        if not message.id:
            self.link.notify(message.method, bytes(message.params))
            return None
        if self.link.retired.done():
            raise NotHereError
        call = LentCall(self, bytes(message.id), passed, outlet)
        if message.method == "subscriptions/listen":
            call.listen(message)
        elif message.method == "resources/unsubscribe" and self._leave(message):
            call.answer(Message(result=_EMPTY))
        else:
            if message.method == "resources/subscribe":
                self.link.follows.join(self, jsonrpc.text(_uri(message)))
            call.begin(message)
        return call

    def next_question(self) -> bytes:
        """The raw id of one more question."""
        return b'"q%d"' % next(self._ids)

    def _leave(self, message: Message) -> bool:
        """Follow a resource no longer; true if others do, so that the server must not know."""
        return not self.link.follows.leave(self, jsonrpc.text(_uri(message)))

    def _unfollow(self) -> None:
        """Follow nothing any more: the other replica is done with the link, or gone."""
        self.keeper.listening.want(frozenset(), self)
        for uri in self.link.follows.of(self):
            if self.link.follows.leave(self, uri):
                params = jsonrpc.encode({"uri": uri})
                self.link.request("resources/unsubscribe", params)


class LentCall:
    """One request of another replica at a server; its client is asked and told through there."""

    def __init__(self, lent: LentLink, id_: bytes, passed: LentMessage, outlet: PeerOutlet) -> None:
        self.client: object = (lent, passed.client)
        self.turn: object = (lent, passed.turn)
        self.lane: object = (lent, passed.lane)
        self._is_clients = passed.client is not None
        self._lent = lent
        self._link = lent.link
        self._id = id_
        self._outlet = outlet
        self._pending: PendingRequest | None = None
        self._task: asyncio.Task[None] | None = None
        self._token = b""
        """The progress token of the borrower, if the request has one."""

    def begin(self, message: Message) -> None:
        """Send the request; in turn, if the server asks without saying whom."""
        if self._link.turns is None or not self._is_clients:
            self._send(message)
        else:
            self._task = self._lent.tasks.start(self._send_in_turn(message))

    async def _send_in_turn(self, message: Message) -> None:
        turns = self._link.turns
        assert turns is not None
        try:
            await turns.take(self.turn, self._link.patience, ahead=bool(self._link.questions))
        except LinkError as error:
            self._fail(error)
            return
        self._send(message).when_answered(turns.leave)

    def _send(self, message: Message) -> PendingRequest:
        params = bytes(message.params)
        if b'"progressToken"' in params:
            params = self._with_own_token(params)
        requester = self if self._is_clients else None
        self._pending = self._link.request(message.method, params, requester)
        self._lent.under_way.add(self._pending.answer)
        self._pending.answer.add_done_callback(self._answered)
        return self._pending

    def _with_own_token(self, params: bytes) -> bytes:
        """The same params, with the number of this link's request as the progress token."""
        fields = jsonrpc.fields(params)
        meta = jsonrpc.fields(fields.get("_meta", _EMPTY))
        if "progressToken" not in meta:
            return params
        self._token = bytes(meta["progressToken"])
        meta["progressToken"] = Raw(b"%d" % self._link.next_number())
        return jsonrpc.encode({**fields, "_meta": meta})

    def _answered(self, answer: asyncio.Future[Message]) -> None:
        self._lent.under_way.discard(answer)
        if answer.cancelled():
            return
        error = answer.exception()
        if error is not None:
            self._fail(error)
        else:
            self.answer(answer.result())

    def answer(self, message: Message) -> None:
        """Give the server's answer to the other replica."""
        if message.error:
            self._outlet.answer(jsonrpc.error(self._id, message.error), jsonrpc.NOTHING)
        else:
            self._outlet.answer(jsonrpc.result(self._id, message.result), jsonrpc.NOTHING)

    def _fail(self, error: BaseException) -> None:
        self._outlet.answer(fail(error), jsonrpc.NOTHING)

    def abandon(self) -> None:
        """The other replica has hung up."""
        if self._task is not None:
            self._task.cancel()
        if self._pending is not None:
            self._link.cancel(self._pending, "the client went away")

    # A subscription at a modern server: one for all that is followed there.

    def listen(self, message: Message) -> None:
        """Have the server tell of what clients of the other replica follow."""
        self._task = self._lent.tasks.start(self._listen(message))

    async def _listen(self, message: Message) -> None:
        listening = self._lent.keeper.listening
        topics = read_topics(jsonrpc.to_python(jsonrpc.fields(message.params)["notifications"]))
        listening.want(topics, self._lent)
        granted = await listening.granted()
        params = {
            "_meta": {era.META_SUBSCRIPTION: jsonrpc.to_python(self._id)},
            "notifications": members_of(topics & granted),
        }
        method = "notifications/subscriptions/acknowledged"
        self._outlet.emit(jsonrpc.notification(method, jsonrpc.encode(params)))

    # What the server says before its answer.

    def notify(self, method: str, params: bytes) -> None:
        """Pass on something to the client, by way of its replica."""
        if method == "notifications/progress":
            params = jsonrpc.encode({**jsonrpc.fields(params), "progressToken": Raw(self._token)})
        # Our own words between replicas are not for servers to say.
        if not method.startswith("toolyard/"):
            self._outlet.emit(jsonrpc.notification(method, params))

    async def ask(self, pending: PendingRequest, method: str, params: bytes) -> Message:
        """Put a question to the client, by way of its replica, which has the patience for it."""
        key, asks = self._lent.next_question(), self._lent.asks
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        asks[key] = answer
        self._outlet.emit(jsonrpc.question(key, method, params))
        try:
            return await answer
        finally:
            del asks[key]
            if not answer.done() or answer.cancelled():
                withdrawn = b'{"requestId":%b}' % key
                self._outlet.emit(jsonrpc.notification("notifications/cancelled", withdrawn))


def _uri(message: Message) -> Raw | None:
    return jsonrpc.fields(message.params).get("uri")
