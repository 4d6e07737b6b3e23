"""Calls that wait at one replica, as another one shows and answers them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from toolyard.core.errors import ConflictError, UnknownNameError
from toolyard.relay.peers import NoPeers
from toolyard.relay.waiting_calls import CallQuestion, WaitingCalls
from toolyard.relay.waiting_everywhere import WaitingEverywhere, hear_news, serve_order
from toolyard.wire import jsonrpc
from toolyard.wire.jsonrpc import Message


class OneOther(NoPeers):
    """The way from one replica to the only other one, `b`, and back."""

    def __init__(self, here: WaitingCalls, there: WaitingCalls) -> None:
        self.here, self.there, self.lives = here, there, True

    async def ask_about_waiting(self, order: bytes) -> list[Message]:
        return [jsonrpc.decode(serve_order(self.there, order))] if self.lives else []

    def is_known(self, replica: str) -> bool:
        return self.lives and replica == "b"

    def tell_here(self, members: Sequence[str]) -> None:
        hear_news(self.here, jsonrpc.encode(["b", *members]))


def question(member: str = "", tool: str = "t") -> CallQuestion:
    ends = ("digest", "mark", "rule", "reason", 60.0)
    return CallQuestion("p", "who", member, "agent", "id", "s", tool, b'{"a": 1}', *ends)


async def test_a_member_sees_and_answers_their_own_calls_alone_wherever_they_wait() -> None:
    here, there = WaitingCalls(), WaitingCalls()
    calls = WaitingEverywhere(here, OneOther(here, there))
    anns, bobs = there.put(question("ann")), there.put(question("bob"))
    own = here.put(question("ann", "first"))

    assert [call.id for call in await calls.show("ann")] == [anns.id, own.id]
    assert len(await calls.show()) == 3
    with pytest.raises(UnknownNameError):
        await calls.answer(bobs.id, True, member="ann")
    assert not bobs.verdict.done()
    assert (await calls.answer(anns.id, True, member="ann")).question == anns.question
    assert anns.verdict.result() is True


async def test_what_the_client_shows_or_somebody_answered_is_a_conflict_from_elsewhere_too() -> (
    None
):
    here, there = WaitingCalls(), WaitingCalls()
    calls = WaitingEverywhere(here, OneOther(here, there))
    shown, answered = there.put(question(), in_client=True), there.put(question())

    with pytest.raises(ConflictError, match="the client was asked"):
        await calls.answer(shown.id, True)
    await calls.answer(answered.id, False)
    with pytest.raises(ConflictError, match="somebody has answered"):
        await calls.answer(answered.id, True)
    assert answered.verdict.result() is False


async def test_calls_elsewhere_are_counted_until_their_replica_is_gone() -> None:
    here, there = WaitingCalls(), WaitingCalls()
    way = OneOther(here, there)
    calls = WaitingEverywhere(here, way)
    here.put(question("ann"))
    before = calls.revision
    way.tell_here(["ann", ""])

    assert calls.revision != before
    assert (calls.count(), calls.count("ann"), calls.count("bob")) == (3, 2, 0)
    way.lives = False
    assert calls.count() == 1
    assert len(await calls.show()) == 1
