"""Turns: one client at a time, in order, and nobody is forgotten."""

from __future__ import annotations

import asyncio

import pytest

from toolyard.core.errors import BusyError
from toolyard.links import turns as turns_module
from toolyard.links.turns import Turns

LONG = 30.0


class Queue:
    """Calls at one server, and the order in which they passed."""

    def __init__(self, *under_way: str) -> None:
        self.turns = Turns("x", under_way)
        self.passed: list[str] = []

    def call(
        self, client: str, seconds: float = LONG, *, ahead: bool = False
    ) -> asyncio.Task[None]:
        """A call of a client, which stays under way until somebody leaves."""
        return asyncio.get_running_loop().create_task(self._call(client, seconds, ahead))

    async def _call(self, client: str, seconds: float, ahead: bool) -> None:
        await self.turns.take(client, seconds, ahead=ahead)
        self.passed.append(client)

    async def settle(self) -> list[str]:
        """Who has passed, once nobody can any more."""
        for _ in range(5):
            await asyncio.sleep(0)
        return self.passed


async def test_clients_pass_one_after_the_other_and_each_with_all_its_calls() -> None:
    queue = Queue()
    for client in ("a", "a", "b", "b", "a", "c"):
        queue.call(client)
    assert await queue.settle() == ["a", "a"]
    queue.turns.leave()
    assert await queue.settle() == ["a", "a"], "one of its calls is still under way"
    for expected in (["b", "b"], [], ["a"], ["c"]):
        before = len(queue.passed)
        queue.turns.leave()
        assert (await queue.settle())[before:] == expected
    assert queue.turns.waiting == 0


async def test_a_client_does_not_pass_those_who_wait_unless_it_answers_a_question() -> None:
    queue = Queue()
    for client in ("a", "b", "a"):
        queue.call(client)
    queue.call("a", ahead=True)
    queue.call("c", ahead=True)
    assert await queue.settle() == ["a", "a"]


async def test_calls_that_were_under_way_before_come_to_an_end_first() -> None:
    mixed = Queue("a", "b")
    mixed.call("a")
    assert await mixed.settle() == []
    for _ in range(2):
        mixed.turns.leave()
    assert await mixed.settle() == ["a"]
    alone = Queue("a")
    alone.call("a")
    assert await alone.settle() == ["a"]


async def test_a_call_that_is_taken_back_leaves_its_place_to_the_next() -> None:
    queue = Queue()
    queue.call("a")
    taken_back = queue.call("b")
    queue.call("a")
    await queue.settle()
    taken_back.cancel()
    assert await queue.settle() == ["a", "a"]


async def test_a_turn_that_came_as_its_call_was_taken_back_goes_to_the_next() -> None:
    queue = Queue()
    queue.call("a")
    late = queue.call("b")
    queue.call("c")
    await queue.settle()
    queue.turns.leave()
    late.cancel()
    assert await queue.settle() == ["a", "c"]


async def test_a_turn_that_never_comes_is_an_error_that_names_the_way_out() -> None:
    queue = Queue()
    queue.call("a")
    with pytest.raises(BusyError, match="no turn came") as caught:
        await queue.call("b", 0.01)
    assert '"mode": "per_session"' in caught.value.hint
    assert queue.turns.waiting == 0


async def test_how_many_may_wait_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns_module, "WAITING", 2)
    queue = Queue()
    waiting = [queue.call(client) for client in "abc"]
    await queue.settle()
    with pytest.raises(BusyError, match="2 calls wait"):
        await queue.call("d")
    assert not waiting[1].done()
