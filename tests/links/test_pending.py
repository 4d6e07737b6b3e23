"""A request under way, and what may come before its answer."""

from __future__ import annotations

import asyncio

from msgspec import Raw

from toolyard.links.pending import PendingRequest
from toolyard.wire.jsonrpc import Message

QUESTION, ANSWER = Message(method="question"), Message(result=Raw(b"{}"))


def pending() -> PendingRequest:
    return PendingRequest(1, "x", None, asyncio.get_running_loop().create_future())


async def test_whoever_waits_gets_what_interrupts_and_the_answer_comes_after_it() -> None:
    request = pending()
    waiting = request.answer

    request.interrupt(QUESTION)
    request.answer.set_result(ANSWER)

    assert await waiting is QUESTION
    assert await request.answer is ANSWER


async def test_an_answer_is_not_interrupted_any_more() -> None:
    request = pending()
    request.answer.set_result(ANSWER)

    request.interrupt(QUESTION)

    assert await request.answer is ANSWER


async def test_what_waits_for_the_server_is_not_told_of_an_interruption() -> None:
    request, told = pending(), asyncio.Event()
    request.when_answered(lambda _: told.set())

    request.interrupt(QUESTION)
    await asyncio.sleep(0)
    before = told.is_set()
    request.answer.set_result(ANSWER)
    async with asyncio.timeout(60):
        await told.wait()

    assert not before
