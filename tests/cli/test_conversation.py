from __future__ import annotations

import json
from typing import Any

import pytest

from toolyard.doors.stdio.conversation import Conversation, is_request, read
from toolyard.wire import jsonrpc


@pytest.fixture
def talk() -> Conversation:
    talk = Conversation({"version": 2})
    talk.introduce()
    return talk


def say(talk: Conversation, **message: Any) -> bytes:
    line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
    talk.note_message(read(line), line)
    return line


def lines(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


@pytest.mark.parametrize("id_", [1, -4, 2.5, "1", 'a"b\\', "ü", 'x,"id":5}', 10**30])
def test_an_answer_is_known_whatever_the_id_looks_like(talk: Conversation, id_: Any) -> None:
    say(talk, id=id_, method="tools/call")
    raw = json.dumps(id_, ensure_ascii=False).encode()

    assert talk.note_hub_line(jsonrpc.result(raw, b'{"a":{"id":9}}') + b"\n")

    assert talk.end_hub(repeats=True) == b""


def test_an_error_is_an_answer_too_and_a_layout_of_another_version_as_well(
    talk: Conversation,
) -> None:
    for id_ in (1, 2):
        say(talk, id=id_, method="tools/call")

    assert talk.note_hub_line(jsonrpc.error(b"1", jsonrpc.fault(-32000, "no")) + b"\n")
    assert talk.note_hub_line(b'{ "id" : 2, "result" : {}, "jsonrpc" : "2.0" }\n')

    assert talk.end_hub(repeats=True) == b""


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"id":6}}\n',
        b'{"method":"tools/call","params":{"id":6},"jsonrpc":"2.0","id":5}\r\n',
    ],
)
def test_calls_in_the_usual_layouts_are_noted_without_being_read(
    talk: Conversation, line: bytes
) -> None:
    assert talk.note_call(line)
    assert lines(talk.end_hub(repeats=True))[0]["id"] == 5


@pytest.mark.parametrize(
    "line",
    [
        b'{"method":"tools/call","params":{"jsonrpc":"2.0","id":6}}\n',
        b'{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{}}\n',
        b'{"jsonrpc":"2.0","id":5,"method":"tools/list"}\n',
    ],
)
def test_what_is_not_certainly_a_call_is_read(talk: Conversation, line: bytes) -> None:
    assert not talk.note_call(line)


def test_what_has_no_answer_gets_one_error_each(talk: Conversation) -> None:
    for id_ in (1, "two"):
        say(talk, id=id_, method="tools/call")

    told = lines(talk.end_hub(repeats=True))

    assert [(each["id"], each["error"]["code"]) for each in told] == [(1, -32000), ("two", -32000)]
    assert talk.end_hub(repeats=True) == b""


def test_nobody_waits_for_the_answer_to_a_cancelled_request(talk: Conversation) -> None:
    say(talk, id=1, method="tools/call")
    say(talk, method="notifications/cancelled", params={"requestId": 1})

    assert talk.end_hub(repeats=True) == b""


def test_lists_are_asked_again_unless_the_client_has_left(talk: Conversation) -> None:
    line = say(talk, id=1, method="tools/list")

    assert talk.end_hub(repeats=True) == b""
    assert talk.introduce().endswith(line)
    assert lines(talk.end_hub(repeats=False))[0]["id"] == 1


def test_a_question_of_a_hub_that_ended_is_taken_back_and_its_number_not_used_again(
    talk: Conversation,
) -> None:
    for number in (1, 2, 3):
        assert talk.note_hub_line(jsonrpc.request(number, "elicitation/create", b"{}") + b"\n")
    say(talk, id=2, result={})

    taken = [each["params"]["requestId"] for each in lines(talk.end_hub(repeats=True))]
    assert taken == [1, 3]
    assert lines(talk.introduce())[0]["toolyard"]["asked"] == 3


def test_a_greeting_that_was_not_answered_is_sent_as_it_was(talk: Conversation) -> None:
    line = say(talk, id=1, method="initialize", params={})
    talk.end_hub(repeats=True)

    assert talk.introduce().splitlines(keepends=True)[1:] == [line]


def test_what_was_followed_and_is_not_any_more_is_not_followed_again(talk: Conversation) -> None:
    say(talk, id=1, method="initialize", params={})
    talk.note_hub_line(jsonrpc.result(b"1", b"{}") + b"\n")
    for id_, uri in enumerate("abc", 2):
        say(talk, id=id_, method="resources/subscribe", params={"uri": uri})
    say(talk, id=9, method="resources/unsubscribe", params={"uri": "b"})
    for id_ in (2, 3, 4, 9):
        talk.note_hub_line(jsonrpc.result(b"%d" % id_, b"{}") + b"\n")

    told = [each for each in lines(talk.introduce()) if each.get("method") == "resources/subscribe"]

    assert [each["params"]["uri"] for each in told] == ["a", "c"]
    for each in told:
        answer = jsonrpc.result(json.dumps(each["id"]).encode(), b"{}")
        assert not talk.note_hub_line(answer + b"\n")


def test_a_listening_request_is_acknowledged_once(talk: Conversation) -> None:
    def acknowledged(id_: int) -> bytes:
        meta = {"io.modelcontextprotocol/subscriptionId": id_}
        params = jsonrpc.encode({"notifications": {}, "_meta": meta})
        return jsonrpc.notification("notifications/subscriptions/acknowledged", params) + b"\n"

    wanted = {"notifications": {"promptsListChanged": True}}
    first = say(talk, id=4, method="subscriptions/listen", params=wanted)
    assert talk.note_hub_line(acknowledged(4))
    talk.end_hub(repeats=True)

    (news,) = lines(talk.announce_changes())
    assert news["method"] == "notifications/prompts/list_changed"
    assert talk.introduce().endswith(first)
    say(talk, id=5, method="subscriptions/listen", params=wanted)
    assert talk.note_hub_line(acknowledged(5))
    assert not talk.note_hub_line(acknowledged(4))
    assert talk.note_hub_line(acknowledged(4))


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense",
        b"[1,2]",
        b'{"id":null,"method":"a"}',
        b'{"id":true,"method":"a"}',
        b'{"id":1,"method":2}',
        b'{"id":1}',
        b"[" * 100_000,
        b"\xff",
    ],
)
def test_what_is_no_request_waits_for_no_answer(talk: Conversation, line: bytes) -> None:
    message = read(line)
    talk.note_message(message, line)

    assert not is_request(message)
    assert talk.end_hub(repeats=True) == b""
