"""The guard of one tool: rounds, tasks and errors of servers."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from msgspec import Raw

from toolyard.core.errors import CallRefusedError
from toolyard.core.interceptors import Interceptor, Masking
from toolyard.core.model import Offer
from toolyard.features.interceptors.guard import Chain, InterceptorGuard, InterceptorStep
from toolyard.relay.routes import NO_OFFER, Route
from toolyard.relay.session import ClientRequest, Outlet, Session
from toolyard.tasks import Tasks
from toolyard.wire.jsonrpc import Fields, Message

MASK = Interceptor("mask", ("*",), Masking(frozenset({"email"})), phase="response")
SECRET = {"content": [{"type": "text", "text": "ann@acme.io"}]}
MASKED = {"content": [{"type": "text", "text": "[email]"}]}


async def served(
    method: str, interceptor: Interceptor = MASK, *, result: Any = None, error: Any = None
) -> Message:
    """The answer behind the guard, to a request that a server answers like this."""

    async def deliver(fields: Fields) -> Message:
        if error is not None:
            return Message(error=Raw(json.dumps(error).encode()))
        return Message(result=Raw(json.dumps(result).encode()))

    def drop(_: bytes) -> None:
        """Nobody listens."""

    guard = InterceptorGuard(
        Chain([InterceptorStep(interceptor, Offer("t", b"{}"), None)], Tasks())
    )
    request = ClientRequest(Session("x", drop), method, b"1", {}, {}, Outlet(drop))
    return await guard.serve(request, {}, Route(None, "t", NO_OFFER), deliver)


async def test_the_result_of_a_task_is_masked_in_both_eras() -> None:
    legacy = await served("tasks/result", result=SECRET)
    assert json.loads(bytes(legacy.result)) == MASKED
    modern = await served("tasks/get", result={"taskId": "7", "result": SECRET})
    assert json.loads(bytes(modern.result)) == {"taskId": "7", "result": MASKED}
    waiting = {"taskId": "7", "status": "working"}
    assert json.loads(bytes((await served("tasks/get", result=waiting)).result)) == waiting


async def test_a_question_passes_as_it_is_and_a_result_that_calls_itself_one_does_not() -> None:
    question = {"resultType": "input_required", "requestState": "x", "to": "ann@acme.io"}
    assert json.loads(bytes((await served("tools/call", result=question)).result)) == question
    lie = {"resultType": "task", **SECRET}
    told = json.loads(bytes((await served("tools/call", result=lie)).result))
    assert told == {"resultType": "task", **MASKED}


async def test_others_go_on_while_a_long_result_is_masked() -> None:
    long = {"content": [{"type": "text", "text": "ann@acme.io " * 40_000}]}
    turns = 0
    async with asyncio.TaskGroup() as group:
        masking = group.create_task(served("tools/call", result=long))
        while not masking.done():
            await asyncio.sleep(0)
            turns += 1

    assert turns > 10
    assert json.loads(bytes(masking.result().result))["content"][0]["text"] == "[email] " * 40_000


async def test_the_error_of_a_server_is_masked() -> None:
    error = {"code": -1, "message": "no such user: ann@acme.io"}
    told = json.loads(bytes((await served("tools/call", error=error)).error))
    assert told == {"code": -1, "message": "no such user: [email]"}


async def test_a_result_that_cannot_be_read_is_refused() -> None:
    small = Interceptor("mask", ("*",), MASK.work, phase="response", largest=10)
    with pytest.raises(CallRefusedError, match="takes 10 at most"):
        await served("tools/call", small, result=SECRET)
    with pytest.raises(CallRefusedError, match="takes 10 at most"):
        await served("tools/call", small, error={"code": -1, "message": "x" * 20})
