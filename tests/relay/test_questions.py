"""Questions of servers: who may be asked what, and what becomes of those nobody answers."""

from __future__ import annotations

import asyncio

import pytest
from msgspec import Raw

from toolyard.core.errors import LinkError
from toolyard.links.pending import PendingRequest
from toolyard.relay.questions import ASKED, Questions, is_able, refuse_question
from toolyard.wire.jsonrpc import Message

FORM = "elicitation/create", b'{"message":"who?"}'


def raised() -> Questions:
    return Questions(PendingRequest(1, "x", None, asyncio.get_running_loop().create_future()))


@pytest.mark.parametrize(
    ("capabilities", "need", "params", "able"),
    [
        ({"elicitation": {}}, "elicitation", b'{"message":"who?"}', True),
        ({"elicitation": {}}, "elicitation", b'{"mode":"url","url":"https://x"}', False),
        ({"elicitation": {"url": {}}}, "elicitation", b'{"mode":"url","url":"https://x"}', True),
        ({"sampling": {}}, "sampling", b'{"tools":[]}', False),
        ({"sampling": {}}, "elicitation", b"{}", False),
        ({"": {}}, "", b"{}", False),
    ],
)
def test_a_client_is_asked_what_it_declared_and_no_more(
    capabilities: dict[str, object], need: str, params: bytes, able: bool
) -> None:
    assert is_able(capabilities, need, params) is able


def test_who_has_no_folders_has_an_empty_list_of_them() -> None:
    assert refuse_question("roots/list", "roots").result == Raw(b'{"roots":[]}')
    assert refuse_question("sampling/createMessage", "sampling").error


async def test_a_question_takes_the_place_of_the_answer_until_it_is_answered() -> None:
    questions = raised()
    waiting = questions.pending.answer
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        asking = group.create_task(questions.put(*FORM))
        assert await waiting is ASKED

        (key,) = questions.listed()
        questions.answer({key: Raw(b'{"action":"accept"}'), "q99": Raw(b"{}")})

    assert bytes(asking.result().result) == b'{"action":"accept"}'
    assert not questions.is_waiting


async def test_a_question_about_a_call_that_is_over_is_refused_at_once() -> None:
    questions = raised()
    questions.pending.answer.set_result(Message(result=Raw(b"{}")))

    with pytest.raises(LinkError, match="is over"):
        await questions.put(*FORM)


async def test_questions_that_nobody_comes_back_for_fail() -> None:
    questions = raised()
    asyncio.get_running_loop().call_soon(questions.close, "the client went away")

    with pytest.raises(LinkError, match="went away"):
        await questions.put(*FORM)
