"""Calls that wait for a yes at any replica, shown and answered from each of them."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, Raw, Struct

from toolyard.core.errors import ConflictError, UnknownNameError
from toolyard.relay.peers import Peers
from toolyard.relay.waiting_calls import CallQuestion, WaitingCall, WaitingCalls
from toolyard.wire import jsonrpc


class ShownCall(Struct, frozen=True):
    """A call that waits, wherever it does."""

    id: str
    question: CallQuestion
    since: float
    expires: float
    in_client: bool
    """The client shows the question; the call goes on when that has the answer."""


class WaitingOrder(Struct, frozen=True, omit_defaults=True):
    """What a replica wants of the calls that wait at another: to see them, or to answer one."""

    member: str = ""
    """Only the calls of this member; empty for those of all."""
    id: str = ""
    """The call that is answered; empty to see all."""
    yes: bool = False


class WaitingReply(Struct, frozen=True, omit_defaults=True):
    """The calls that an order was about."""

    calls: tuple[ShownCall, ...] = ()
    conflict: tuple[str, str] | None = None
    """Why the call that waits there cannot be answered, and what to do."""


_read_order = msgspec.json.Decoder(WaitingOrder).decode
_read_news = msgspec.json.Decoder(Annotated[list[str], Meta(min_length=1)]).decode
_read_reply = msgspec.json.Decoder(WaitingReply).decode


class WaitingEverywhere:
    """The calls that wait here, and those that wait at other replicas."""

    def __init__(self, here: WaitingCalls, peers: Peers) -> None:
        self._here = here
        self._peers = peers
        here.on_change = self._tell_others

    @property
    def revision(self) -> int:
        """Another number as soon as others wait."""
        return self._here.revision

    def count(self, member: str = "") -> int:
        """Return how many calls wait, as far as is known; only a member's own if one is given."""
        members = [call.question.member for call in self._here]
        for replica, theirs in self._here.elsewhere.items():
            if self._peers.is_known(replica):
                members += theirs
        return members.count(member) if member else len(members)

    def _tell_others(self) -> None:
        self._peers.tell_of_waiting([call.question.member for call in self._here])

    async def show(self, member: str = "") -> list[ShownCall]:
        """Return the calls that wait, the oldest first; only a member's own if one is given."""
        replies = await self._ask_others(WaitingOrder(member))
        calls = [*_shown(self._here, member), *(call for reply in replies for call in reply.calls)]
        return sorted(calls, key=lambda call: call.since)

    async def answer(self, id_: str, yes: bool, *, member: str = "") -> ShownCall:
        """Give the answer to a call, once; a member may answer for their own calls alone.

        Raises:
            UnknownNameError: No such call waits, or it is another member's.
            ConflictError: Only the client can answer, or somebody has.
        """
        try:
            return _show(self._here.answer(id_, yes, member=member))
        except UnknownNameError:
            for reply in await self._ask_others(WaitingOrder(member, id_, yes)):
                if reply.conflict is not None:
                    raise ConflictError(*reply.conflict) from None
                if reply.calls:
                    return reply.calls[0]
            raise

    async def _ask_others(self, order: WaitingOrder) -> list[WaitingReply]:
        answers = await self._peers.ask_about_waiting(msgspec.json.encode(order))
        return [_read_reply(answer.result) for answer in answers if answer.result]


def hear_news(here: WaitingCalls, body: bytes) -> None:
    """Take in whose calls wait at another replica.

    Raises:
        msgspec.DecodeError: It is no such news.
    """
    replica, *members = _read_news(body)
    here.hear(replica, tuple(members))


def serve_order(here: WaitingCalls, body: bytes) -> bytes:
    """Do what another replica wants of the calls that wait here; return the reply for it.

    Raises:
        msgspec.DecodeError: It is no such order.
    """
    order = _read_order(body)
    if not order.id:
        reply = WaitingReply(tuple(_shown(here, order.member)))
    else:
        reply = _answer(here, order)
    return jsonrpc.result(Raw(b"0"), Raw(msgspec.json.encode(reply)))


def _answer(here: WaitingCalls, order: WaitingOrder) -> WaitingReply:
    try:
        return WaitingReply((_show(here.answer(order.id, order.yes, member=order.member)),))
    except UnknownNameError:
        return WaitingReply()
    except ConflictError as error:
        return WaitingReply(conflict=(str(error), error.hint))


def _shown(here: WaitingCalls, member: str) -> list[ShownCall]:
    return [_show(call) for call in here if member in ("", call.question.member)]


def _show(call: WaitingCall) -> ShownCall:
    return ShownCall(call.id, call.question, call.since, call.expires, call.in_client)
