"""One link, many callers: everybody gets what is theirs, and nothing waits for ever."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.links.company import Guest, call, indoors, until
from toolyard.core.errors import LinkError, LinkTimeoutError
from toolyard.links import link as link_module
from toolyard.links import open_questions
from toolyard.links.link import RequestRefusedError
from toolyard.records.secrets.mask import MASK
from toolyard.wire import jsonrpc

PING = {"method": "ping"}


async def test_answers_find_their_askers_in_any_order() -> None:
    server = indoors({"tools/call": None})
    requests = [call(server.link, "x") for _ in range(3)]
    assert server.link.load == 3
    for pending in reversed(requests):
        server.say({"id": pending.number, "result": {"for": pending.number}})

    for pending in requests:
        assert json.loads(bytes((await pending.answer).result)) == {"for": pending.number}
    assert server.link.load == 0


@pytest.mark.parametrize(
    "nonsense",
    [
        {"id": "1", "result": {}},
        {"id": 1.0, "result": {}},
        {"id": 99, "result": {}},
        {"id": None, "error": {"code": 1, "message": "?"}},
        {"result": {}},
        {"id": 1},
    ],
)
async def test_what_answers_nothing_is_counted_and_ends_no_call(nonsense: dict) -> None:
    server = indoors({"tools/call": None})
    pending = call(server.link, "x")
    server.say(nonsense)

    assert server.link.violations == 1
    assert not pending.answer.done()


async def test_an_answer_on_the_stream_of_another_request_is_not_believed() -> None:
    server = indoors({"tools/call": None})
    mine, theirs = call(server.link, "x"), call(server.link, "y")
    server.say({"id": mine.number, "result": {}}, via=theirs)
    assert not mine.answer.done()
    server.say({"id": None, "error": {"code": -1, "message": "no"}}, via=theirs)

    assert theirs.answer.done()
    assert not mine.answer.done()


async def test_a_second_answer_changes_nothing() -> None:
    server = indoors({"tools/call": None})
    pending = call(server.link, "x")
    server.say({"id": pending.number, "result": {"n": 1}})
    server.say({"id": pending.number, "result": {"n": 2}})

    assert bytes((await pending.answer).result) == b'{"n": 1}'
    assert server.link.violations == 1


async def test_chatter_beside_answers_is_borne_but_nothing_else_than_chatter_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(link_module, "VIOLATIONS_ALLOWED", 10)
    server = indoors({"ping": {}})
    for _ in range(30):
        server.link.receive(b"DEBUG: about to answer")
        await server.link.ask("ping")
    assert not server.link.closed.done()
    for _ in range(11):
        server.link.receive(b"DEBUG")

    assert "make no sense" in server.link.closed.result()


async def test_an_error_is_an_answer_and_for_the_hub_itself_a_refusal() -> None:
    server = indoors()
    with pytest.raises(RequestRefusedError) as caught:
        await server.link.ask("tools/list")

    assert caught.value.fault.code == -32601
    message = await call(server.link, "x").answer
    assert json.loads(bytes(message.error))["code"] == -32601


async def test_no_part_of_a_secret_is_in_a_refusal_that_is_cut() -> None:
    MASK.add("t0ken-of-a-server-that-quotes-it")
    message = "x" * 490 + "t0ken-of-a-server-that-quotes-it"

    error = RequestRefusedError("server", "tools/list", jsonrpc.Fault(-32600, message))

    assert "t0ken" not in str(error)
    assert "[secret]" in str(error)


async def test_an_odd_error_is_a_refusal_too() -> None:
    server = indoors({"ping": None})

    async def refuse() -> None:
        await until(lambda: server.heard)
        server.say({"id": 1, "error": {"code": "x", "message": None}})

    async with asyncio.TaskGroup() as group:
        group.create_task(refuse())
        with pytest.raises(RequestRefusedError, match="refused ping"):
            await server.link.ask("ping")


async def test_a_lost_link_fails_every_call_at_once_and_takes_no_more() -> None:
    server = indoors({"tools/call": None})
    requests = [call(server.link, "x") for _ in range(3)]
    server.link.lose("exited with code 1")
    server.link.lose("again")
    requests.append(call(server.link, "late"))

    for pending in requests:
        with pytest.raises(LinkError, match="exited with code 1"):
            await pending.answer
    error = requests[0].answer.exception()
    assert (
        isinstance(error, LinkError) and str(error) == "'acme' exited with code 1: its last words"
    )
    assert await server.link.closed == "exited with code 1"


async def test_a_cancelled_call_is_named_to_the_server_and_its_late_answer_ignored() -> None:
    server = indoors({"tools/call": None})
    pending = call(server.link, "x")
    server.link.cancel(pending, "changed my mind")
    server.link.cancel(pending, "again")
    server.say({"id": pending.number, "result": {}})

    assert pending.answer.cancelled()
    assert server.dropped == [pending]
    assert [heard.get("params") for heard in server.heard[1:]] == [
        {"requestId": pending.number, "reason": "changed my mind"}
    ]
    assert server.link.load == 0


async def test_who_stops_asking_cancels() -> None:
    server = indoors({"ping": None})
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await server.link.ask("ping")

    assert server.heard[-1]["method"] == "notifications/cancelled"


async def test_a_late_answer_is_a_timeout_that_is_told_to_the_server() -> None:
    server = indoors({"tools/call": None})
    pending = call(server.link, "x", patience=0.05)
    async with asyncio.timeout(60):
        with pytest.raises(LinkTimeoutError, match=r"did not answer tools/call within 0\.05 s"):
            await pending.answer

    assert server.heard[-1]["method"] == "notifications/cancelled"


async def test_a_short_wait_ends_in_time_beside_a_long_one() -> None:
    server = indoors({"tools/call": None})
    long = call(server.link, "x", patience=600)
    short = call(server.link, "x", patience=0.1)
    async with asyncio.timeout(60):
        with pytest.raises(LinkTimeoutError):
            await short.answer

    assert not long.answer.done()


async def test_without_patience_a_request_stays_open() -> None:
    server = indoors({"tools/call": None}, patience=0.02)
    forever, short = call(server.link, "x", patience=0), call(server.link, "x")
    with pytest.raises(LinkTimeoutError):
        await short.answer

    assert not forever.answer.done()


async def test_progress_keeps_a_call_alive_but_not_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(link_module, "HARD_CAP_SECONDS", 0.8)
    server, guest = indoors({"tools/call": None}), Guest()
    loop = asyncio.get_running_loop()
    began = loop.time()
    pending = call(server.link, "x", guest=guest, progress=True, patience=0.3)

    async def report() -> None:
        while not pending.answer.done():
            token = {"progressToken": pending.number, "progress": 1}
            server.say({"method": "notifications/progress", "params": token})
            await asyncio.sleep(0.05)

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        group.create_task(report())
        with pytest.raises(LinkTimeoutError):
            await pending.answer

    assert loop.time() - began > 0.7
    assert guest.told[0] == (
        "notifications/progress",
        {"progressToken": pending.number, "progress": 1},
    )


async def test_progress_of_nobody_goes_to_nobody() -> None:
    server, guest = indoors({"tools/call": None}), Guest()
    call(server.link, "x", guest=guest)
    for token in (99, "1", None, [1]):
        server.say({"method": "notifications/progress", "params": {"progressToken": token}})
    server.say({"method": "notifications/progress"})
    server.link.receive(b'{"method":"notifications/progress","params":[1]}')

    assert guest.told == []


async def test_a_ping_is_answered_by_the_link() -> None:
    server = indoors()
    server.say({"id": "p", **PING})

    assert server.heard == [{"jsonrpc": "2.0", "id": "p", "result": {}}]


QUESTION = {"id": "q", "method": "elicitation/create", "params": {"message": "who?"}}


async def test_a_question_goes_to_the_latest_call_of_the_only_client() -> None:
    server = indoors({"tools/call": None})
    first, latest = Guest(), Guest(answer={"action": "accept"})
    call(server.link, "x", guest=first)
    call(server.link, "y", guest=latest)
    server.link.request("ping", b"{}", patience=0)
    server.say(QUESTION)
    await until(lambda: len(server.heard) > 3)

    assert latest.asked == [("elicitation/create", {"message": "who?"})]
    assert first.asked == []
    assert server.heard[-1] == {"jsonrpc": "2.0", "id": "q", "result": {"action": "accept"}}


async def test_a_question_of_two_clients_calls_is_refused_and_asked_of_nobody() -> None:
    server, guests = indoors({"tools/call": None}), [Guest("one"), Guest("two")]
    for guest in guests:
        call(server.link, "x", guest=guest)
    server.say(QUESTION)

    assert server.heard[-1]["error"]["code"] == -32601
    assert [guest.asked for guest in guests] == [[], []]
    assert server.link.unattributed == 1
    server.say({"id": "r", "method": "roots/list"})
    assert server.heard[-1] == {"jsonrpc": "2.0", "id": "r", "result": {"roots": []}}


async def test_a_client_that_waits_for_an_answer_may_have_caused_the_next_question_too() -> None:
    server = indoors({"tools/call": None})
    asked, other = Guest("one", answer={}), Guest("two", answer={})
    call(server.link, "x", guest=asked)
    server.say(QUESTION)
    await until(lambda: asked.asked)
    call(server.link, "x", guest=other)
    server.say({**QUESTION, "id": "again"})
    server.say({"method": "notifications/message", "params": {"level": "info", "data": "hm"}})

    assert server.heard[-1]["error"]["code"] == -32601
    assert (other.asked, other.told, asked.told) == ([], [], [])
    assert server.link.unattributed == 2


async def test_a_question_on_a_call_s_own_stream_is_that_call_s() -> None:
    server = indoors({"tools/call": None})
    mine, other = Guest("one", answer={}), Guest("two")
    pending = call(server.link, "x", guest=mine)
    call(server.link, "x", guest=other)
    server.say(QUESTION, via=pending)
    await until(lambda: mine.asked)

    assert other.asked == []


async def test_a_question_nobody_answers_is_answered_with_an_error() -> None:
    server = indoors({"tools/call": None})
    call(server.link, "x", guest=Guest())
    server.say(QUESTION)
    await until(lambda: len(server.heard) > 1)

    assert server.heard[-1]["error"]["message"] == "nobody is there to answer"


async def test_open_questions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_questions, "QUESTIONS_ALLOWED", 2)

    class Thinker(Guest):
        async def ask(self, *_: object) -> object:  # type: ignore[override]
            return await asyncio.Event().wait()

    server = indoors({"tools/call": None})
    call(server.link, "x", guest=Thinker())
    for number in range(3):
        server.say({**QUESTION, "id": number})

    assert [heard["id"] for heard in server.heard if "error" in heard] == [2]
    await server.link.tasks.close()


async def test_notes_go_to_the_only_client_and_news_for_everybody_to_the_hub() -> None:
    server, guest = indoors({"tools/call": None}), Guest()
    news: list[str] = []
    server.link.on_notice = lambda method, _params: news.append(method)
    call(server.link, "x", guest=guest)
    server.say({"method": "notifications/message", "params": {"data": 1}})
    server.say({"method": "notifications/tools/list_changed"})

    assert guest.told == [("notifications/message", {"data": 1})]
    assert news == ["notifications/tools/list_changed"]


async def test_notes_with_two_clients_under_way_are_passed_to_neither() -> None:
    server, guests = indoors({"tools/call": None}), [Guest("one"), Guest("two")]
    for guest in guests:
        call(server.link, "x", guest=guest)
    server.say({"method": "notifications/message", "params": {"data": "secret of one"}})

    assert [guest.told for guest in guests] == [[], []]
    assert server.link.unattributed == 1


async def test_a_flood_of_notes_is_cut_and_news_of_changes_is_not() -> None:
    server, guest = indoors({"tools/call": None}), Guest()
    news: list[str] = []
    server.link.on_notice = lambda method, _params: news.append(method)
    call(server.link, "x", guest=guest)
    for _ in range(1000):
        server.say({"method": "notifications/message", "params": {}})
    server.say({"method": "notifications/tools/list_changed"})

    assert 500 <= len(guest.told) < 700
    assert server.link.dropped == 1000 - len(guest.told)
    assert news == ["notifications/tools/list_changed"]


class DrivenLoop(asyncio.SelectorEventLoop):
    """A loop whose clock stands until the test moves it on."""

    now = 1000.0

    def time(self) -> float:
        return self.now

    async def pass_by(self, seconds: float) -> None:
        """Let so much time pass at once, and everybody notice it."""
        self.now += seconds
        for _ in range(3):
            await asyncio.sleep(0)


def test_the_time_in_which_the_hub_stood_still_is_given_back_to_its_calls() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, DrivenLoop)
        server = indoors({"tools/call": None}, patience=20.0)
        answered, silent = call(server.link, "x"), call(server.link, "y")

        await loop.pass_by(30)
        server.say({"id": answered.number, "result": {}})
        assert bytes((await answered.answer).result) == b"{}"

        for _ in range(18):
            await loop.pass_by(1)
        assert not silent.answer.done(), "of its 20 s it was given fewer"
        for _ in range(4):
            await loop.pass_by(1)
        with pytest.raises(LinkTimeoutError, match="within 20 s"):
            await silent.answer

    with asyncio.Runner(loop_factory=DrivenLoop) as runner:
        runner.run(main())


async def test_requests_under_way_are_told_of_with_whose_they_are() -> None:
    server = indoors({"tools/call": None})
    guest = Guest("one")
    pending = call(server.link, "x", guest=guest)
    server.link.request("tools/list", b"{}")  # the hub's own
    server.link.request("subscriptions/listen", b"{}", guest, patience=0)

    (under_way,) = server.link.under_way()

    assert (under_way.requester, under_way.is_asking) == (guest, False)
    assert under_way.seconds >= 0
    server.say({"id": pending.number, "result": {}})
    assert server.link.under_way() == []
