"""The line in front of a busy server: in turn, within bounds, and nobody pays for another."""

from __future__ import annotations

import asyncio

import pytest

from tests.links.company import Guest, Indoors, call
from toolyard.core.errors import BusyError, LinkError
from toolyard.links.link import CALLS_ALLOWED, Link
from toolyard.links.loans import fail, read_failure
from toolyard.links.pending import PendingRequest
from toolyard.links.waiting_line import BYTES
from toolyard.wire import jsonrpc

LONG = 600.0


class Office(Indoors):
    """A server that answers when it is told to, and cannot be told everything."""

    def __init__(self, link: Link) -> None:
        super().__init__(link, {"tools/call": None})
        self.trouble: dict[str, Exception] = {}

    def send(self, message: bytes, pending: PendingRequest | None, head: bytes) -> None:
        tool = self._tool(message)
        error = self.trouble.get(tool)
        if isinstance(error, LinkError) and pending is not None:
            self.link.fail(pending, error)
        elif error is not None:
            raise error
        else:
            super().send(message, pending, head)

    @staticmethod
    def _tool(message: bytes) -> str:
        params = jsonrpc.fields(jsonrpc.read(message).params)
        return jsonrpc.text(params.get("name"))

    @property
    def tools(self) -> list[str]:
        """The tools called beyond those that make it busy, in order."""
        return [heard["params"]["name"] for heard in self.heard if heard.get("params")][
            CALLS_ALLOWED:
        ]

    def answer(self, pending: PendingRequest) -> None:
        """Answer a call."""
        self.say({"id": pending.number, "result": {}})


def busy() -> tuple[Office, list[PendingRequest]]:
    """A server that has as many calls under way as it may, and these calls."""
    office = Office(Link("acme", LONG, line_seconds=LONG))
    return office, [call(office.link, "x", guest=Guest("before")) for _ in range(CALLS_ALLOWED)]


async def test_clients_take_turns_and_each_keeps_its_order() -> None:
    office, before = busy()
    one, two, three = Guest("one"), Guest("two"), Guest("three")
    for guest, tool in ((one, "a"), (one, "b"), (one, "c"), (two, "d"), (two, "e"), (three, "f")):
        call(office.link, tool, guest=guest)
    assert office.tools == []
    for pending in before[:4]:
        office.answer(pending)
    assert office.tools == ["a", "d", "f", "b"]
    # Whoever comes back goes to the end.
    call(office.link, "g", guest=three)
    for pending in before[4:7]:
        office.answer(pending)
    assert office.tools[4:] == ["e", "c", "g"]
    assert office.link.load == CALLS_ALLOWED and office.link.calls == CALLS_ALLOWED


async def test_the_hub_itself_asks_without_waiting() -> None:
    office, _ = busy()
    call(office.link, "own")
    assert office.tools == ["own"]


@pytest.mark.parametrize("error", [MemoryError("none left"), LinkError("it does not read")])
async def test_a_call_that_cannot_be_sent_hurts_none_and_keeps_no_place(error: Exception) -> None:
    office, before = busy()
    office.trouble["broken"] = error
    guest = Guest("one")
    broken = [call(office.link, "broken", guest=guest) for _ in range(3000)]
    fine = call(office.link, "fine", guest=guest)

    office.answer(before[0])

    assert before[0].answer.result().result
    for pending in broken:
        assert pending.answer.exception() is error
    assert office.tools == ["fine"] and not fine.answer.done()


async def test_a_call_that_is_given_up_is_not_sent_and_the_server_hears_nothing() -> None:
    office, before = busy()
    guest = Guest("one")
    by_number, by_call, kept = (call(office.link, tool, guest=guest) for tool in "abc")

    office.link.take_back(by_number.number, "no longer needed")
    office.link.cancel(by_call, "no longer needed")
    office.answer(before[0])

    assert by_number.answer.cancelled() and by_call.answer.cancelled()
    assert office.tools == ["c"] and not kept.answer.done()
    assert all(heard["method"] == "tools/call" for heard in office.heard)
    assert not office.link.line.places


async def test_a_place_that_is_given_up_at_the_server_goes_to_the_next() -> None:
    office, before = busy()
    call(office.link, "a", guest=Guest("one"))
    office.link.cancel(before[0], "no longer needed")
    assert [heard["method"] for heard in office.heard[-2:]] == [
        "notifications/cancelled",
        "tools/call",
    ]


async def test_what_waits_is_bounded_in_bytes_and_shared_like_places() -> None:
    office, _ = busy()
    text = {"text": "x" * (BYTES // 8)}
    held = [call(office.link, "a", text, Guest("greedy")) for _ in range(4)]
    assert not any(pending.answer.done() for pending in held)
    refused = call(office.link, "a", text, Guest("greedy")).answer
    assert refused.done(), "it waits"
    assert "4 more wait with 32 MiB of arguments, 32 MiB of them this" in str(refused.exception())
    assert not call(office.link, "b", text, Guest("modest")).answer.done()


async def test_calls_in_line_are_in_turn_too_once_a_server_asks() -> None:
    office, before = busy()
    waiting = call(office.link, "a", guest=Guest("one"))
    office.link.take_turns()
    assert office.link.turns is not None
    turn = asyncio.get_running_loop().create_task(office.link.turns.take("two", LONG))
    for pending in before:
        office.answer(pending)
    for _ in range(5):
        await asyncio.sleep(0)
    assert not turn.done(), "one of the calls from before is under way"
    office.answer(waiting)
    await turn


async def test_a_lost_link_fails_those_who_wait_and_says_that_they_may_call_again() -> None:
    office, before = busy()
    waiting = call(office.link, "a", guest=Guest("one"))
    office.link.lose("ended")
    lost, sent = waiting.answer.exception(), before[0].answer.exception()
    assert isinstance(lost, LinkError) and isinstance(sent, LinkError)
    assert str(lost) == "'acme' ended" and str(sent) == "'acme' ended: its last words"
    assert lost.hint == "call again: the server has not seen it" != sent.hint


def test_another_replica_hears_when_to_try_again() -> None:
    message = jsonrpc.read(fail(BusyError("'acme' is busy", "try again in 7 s", 7)))
    error = read_failure(message.params).error
    assert isinstance(error, BusyError) and error.retry_after == 7
    assert (str(error), error.hint) == ("'acme' is busy", "try again in 7 s")
