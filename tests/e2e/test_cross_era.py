"""The bridge between the eras: questions find the one who caused them, and answers their call."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.e2e.conftest import KINDS, Connect
from tests.e2e.hub import TOKEN, RunningHub, entry, new_home, running_hub, stdio_stub
from tests.e2e.talk import ALL, META, MODERN, HttpTalk, Json, Talk, talking, text_of

DOORS = ("line", "http")
LEGACY_SERVERS = ("old", "oldweb", "oldsse")
NOBODY: Json = {}


async def begin(client: Talk, tool: str, arguments: Json | None = None) -> Json:
    """The first round of a call that asks something."""
    params = {"name": tool, "arguments": arguments or {}}
    result = await client.result("tools/call", params)
    assert result["resultType"] == "input_required"
    return result


def answered(round_: Json, tool: str, arguments: Json | None = None, **changed: Any) -> Json:
    """The params of the next round, with the question answered."""
    (key,) = round_["inputRequests"]
    answer = {"action": "accept", "content": {"name": "Ada"}}
    params = {"name": tool, "arguments": arguments or {}, "inputResponses": {key: answer}}
    return {**params, "requestState": round_["requestState"], **changed}


# A modern client, a legacy server: the call is parked while the question travels.


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("server", LEGACY_SERVERS)
async def test_a_legacy_servers_question_becomes_the_result_of_the_call(
    yard: RunningHub, server: str, door: str
) -> None:
    async with talking(yard, "modern", door) as client:
        tool = f"{server}__ask"
        round_ = await begin(client, tool, {"question": "Who?"})
        (question,) = round_["inputRequests"].values()
        assert question["method"] == "elicitation/create"
        assert question["params"]["message"] == "Who?"
        params = answered(round_, tool, {"question": "Who?"})
        result = await client.result("tools/call", params)
        assert result["resultType"] == "complete"
        assert json.loads(text_of(result))["content"] == {"name": "Ada"}


@pytest.mark.parametrize("door", DOORS)
async def test_a_request_state_is_good_for_one_round(yard: RunningHub, door: str) -> None:
    async with talking(yard, "modern", door) as client:
        params = answered(await begin(client, "old__ask"), "old__ask")
        await client.result("tools/call", params)
        assert (await client.fault("tools/call", params))["code"] == -32602


@pytest.mark.parametrize("door", DOORS)
async def test_a_request_state_is_bound_to_its_call(yard: RunningHub, door: str) -> None:
    async with talking(yard, "modern", door) as client:
        round_ = await begin(client, "old__ask")
        good = answered(round_, "old__ask")
        state = round_["requestState"]
        for wrong in (
            answered(round_, "old__ask", {"question": "another"}),
            answered(round_, "old__sample"),
            answered(
                round_, "old__ask", requestState=state[:-1] + ("A" if state[-1] != "A" else "B")
            ),
            answered(round_, "old__ask", requestState=""),
            answered(round_, "old__ask", requestState={"not": "a string"}),
        ):
            assert (await client.fault("tools/call", wrong))["code"] == -32602
        # None of these cost the true one its place.
        assert (await client.result("tools/call", good))["resultType"] == "complete"


@pytest.mark.parametrize("door", DOORS)
async def test_a_request_state_is_worth_nothing_to_another_client(
    yard: RunningHub, door: str
) -> None:
    async with (
        talking(yard, "modern", door) as client,
        talking(yard, "modern", door, name="other") as other,
    ):
        params = answered(await begin(client, "old__ask"), "old__ask")
        assert (await other.fault("tools/call", params))["code"] == -32602
        assert (await client.result("tools/call", params))["resultType"] == "complete"


async def test_a_round_without_answers_is_asked_again(yard: RunningHub) -> None:
    async with talking(yard, "modern") as client:
        first = await begin(client, "old__ask")
        params = {"name": "old__ask", "arguments": {}, "requestState": first["requestState"]}
        second = await client.result("tools/call", params)
        assert second["inputRequests"] == first["inputRequests"]
        assert second["requestState"] != first["requestState"]
        result = await client.result("tools/call", answered(second, "old__ask"))
        assert result["resultType"] == "complete"


async def test_progress_of_a_later_round_has_that_rounds_token(everything: RunningHub) -> None:
    async with talking(everything, "modern") as client:
        tool = "past__test_streaming_elicitation"
        params = {"name": tool, "arguments": {}}
        round_ = await client.result("tools/call", params, meta={"progressToken": "one"})
        (note,) = await client.wait_heard("notifications/progress")
        assert note["progressToken"] == "one"
        answer = {"action": "accept", "content": {"ok": True}}
        (key,) = round_["inputRequests"]
        again = {**params, "inputResponses": {key: answer}, "requestState": round_["requestState"]}
        done = await client.result("tools/call", again, meta={"progressToken": "two"})
        assert text_of(done) == 'Elicitation completed: action=accept, content={"ok": true}'


@pytest.mark.parametrize("door", DOORS)
async def test_several_questions_of_a_legacy_server_are_answered_in_turn(
    everything: RunningHub, door: str
) -> None:
    async with talking(everything, "modern", door) as client:
        result = await client.call("past__test_input_required_result_multiple_inputs")
        assert text_of(result) == "hello Ada, 1 roots"
        assert [asked["method"] for asked in client.asked] == [
            "elicitation/create",
            "sampling/createMessage",
            "roots/list",
        ]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("server", LEGACY_SERVERS)
async def test_a_modern_client_that_cannot_answer_is_told_what_it_lacks(
    yard: RunningHub, server: str, door: str
) -> None:
    async with talking(yard, "modern", door, capabilities=NOBODY) as client:
        for tool, capability in (("ask", "elicitation"), ("sample", "sampling")):
            params = {"name": f"{server}__{tool}", "arguments": {}}
            fault = await client.fault("tools/call", params)
            assert fault["code"] == -32021
            assert fault["data"] == {"requiredCapabilities": {capability: {}}}


async def test_a_lacking_capability_is_a_bad_request_over_http(yard: RunningHub) -> None:
    async with talking(yard, "modern", "http", capabilities=NOBODY) as client:
        assert isinstance(client, HttpTalk)
        message = client.message("tools/call", {"name": "old__ask", "arguments": {}})
        answer = await client.http.post(yard.mcp, json=message, headers=client.headers(message))
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32021)


async def test_forms_alone_do_not_send_users_to_pages(yard: RunningHub) -> None:
    able: Json = {"elicitation": {"form": {}}}
    async with talking(yard, "modern", capabilities=able) as client:
        params = {"name": "old__ask", "arguments": {"mode": "url"}}
        assert (await client.fault("tools/call", params))["code"] == -32021


def refused_for(page: str, *more: Json) -> Json:
    """The arguments of a call that a legacy server refuses once, until a page is opened."""
    listed = [{"mode": "url", "url": page, "message": "Please log in", "elicitationId": "e1"}]
    data = {"elicitations": [*listed, *more]}
    return {"code": -32042, "message": "log in first", "data": data, "once": page}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("server", LEGACY_SERVERS)
async def test_a_page_that_a_legacy_server_wants_opened_becomes_a_question(
    yard: RunningHub, server: str, door: str
) -> None:
    page = f"https://example.com/{server}/{door}"
    async with talking(yard, "modern", door) as client:
        result = await client.call(f"{server}__error", refused_for(page))
        assert text_of(result) == "not refused again"
        (asked,) = client.asked
        assert asked["params"] == {"mode": "url", "url": page, "message": "Please log in"}


async def test_a_page_that_is_declined_ends_the_call(yard: RunningHub) -> None:
    arguments = refused_for("https://example.com/declined")
    del arguments["once"]
    async with talking(yard, "modern") as client:
        client.answers = {**client.answers, "elicitation/create": {"action": "decline"}}
        result = await client.call("old__error", arguments)
        assert (result["isError"], text_of(result)) == (True, "log in first (you declined)")
        assert len(client.asked) == 1


async def test_a_client_that_opens_no_pages_is_given_the_address(yard: RunningHub) -> None:
    page = "https://example.com/by-hand"
    async with talking(yard, "modern", capabilities={"elicitation": {"form": {}}}) as client:
        result = await client.call("old__error", refused_for(page))
        assert result["isError"]
        said = f"log in first. Open {page} in a browser, then call again."
        assert text_of(result) == said


@pytest.mark.parametrize(
    "more",
    [{"mode": "url", "url": "javascript:alert(1)"}, {"mode": "form"}, {"mode": "url"}, {}],
)
async def test_an_error_that_lists_no_proper_page_stays_an_error(
    yard: RunningHub, more: Json
) -> None:
    arguments = refused_for("https://example.com/half", more)
    del arguments["once"]
    async with talking(yard, "modern") as client:
        params = {"name": "old__error", "arguments": arguments}
        fault = await client.fault("tools/call", params)
        assert (fault["code"], fault["data"]) == (-32042, arguments["data"])


async def test_a_legacy_client_gets_the_error_as_it_is(yard: RunningHub) -> None:
    arguments = refused_for("https://example.com/legacy")
    async with talking(yard, "legacy") as client:
        params = {"name": "old__error", "arguments": arguments}
        fault = await client.fault("tools/call", params)
        assert (fault["code"], fault["data"]) == (-32042, arguments["data"])


async def test_a_parked_call_ends_with_its_client(yard: RunningHub) -> None:
    before = len(yard.events("old", "cancelled"))
    async with talking(yard, "modern", name="forgetful") as client:
        await begin(client, "old__ask")
    await yard.happened("old", "cancelled", before + 1)
    async with talking(yard, "modern") as client:
        result = await client.call("old__ask")
        assert json.loads(text_of(result))["action"] == "accept"


# A legacy client, a modern server: the hub plays the rounds.


@pytest.mark.parametrize("door", DOORS)
async def test_rounds_of_a_modern_server_become_requests(everything: RunningHub, door: str) -> None:
    async with talking(everything, "legacy", door) as client:
        client.answers = {**client.answers, "elicitation/create": ELICITED}
        result = await client.call("present__test_input_required_result_multi_round")
        assert text_of(result) == "Ada likes blue."
        assert [asked["params"]["message"] for asked in client.asked] == [
            "Step 1: What is your name?",
            "Step 2: What is your favorite color?",
        ]


ELICITED = {"action": "accept", "content": {"name": "Ada", "color": "blue", "context": "tests"}}


@pytest.mark.parametrize("door", DOORS)
async def test_questions_of_one_round_are_all_asked(everything: RunningHub, door: str) -> None:
    async with talking(everything, "legacy", door) as client:
        result = await client.call("present__test_input_required_result_multiple_inputs")
        assert text_of(result) == "hello Ada, 1 roots"


@pytest.mark.parametrize("server", ["past", "present"])
async def test_a_prompt_may_ask_as_well(
    everything: RunningHub, kind: tuple[str, str], server: str
) -> None:
    answers = {"elicitation/create": ELICITED}
    async with talking(everything, *kind, answers=answers) as client:
        params = {"name": f"{server}__test_input_required_result_prompt"}
        (message,) = (await client.rounds("prompts/get", params))["messages"]
        assert message["content"]["text"] == "Prompt with context: tests"


@pytest.mark.parametrize("server", ["past", "present"])
async def test_a_server_is_asked_only_for_what_its_caller_can(
    everything: RunningHub, kind: tuple[str, str], server: str
) -> None:
    async with talking(everything, *kind, capabilities={"sampling": {}}) as client:
        response = await client.request(
            "tools/call", {"name": f"{server}__test_missing_capability", "arguments": {}}
        )
        assert text_of(response["result"]) == "The client can sample."


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("server", ["old", "new", "oldweb", "newweb"])
async def test_a_legacy_client_that_cannot_answer_gets_a_clear_error(
    yard: RunningHub, server: str, door: str
) -> None:
    async with talking(yard, "legacy", door, capabilities=NOBODY) as client:
        params = {"name": f"{server}__ask", "arguments": {}}
        response = await client.request("tools/call", params)
        assert client.asked == []
        if "error" in response:
            assert response["error"]["code"] == -32021
            assert "elicitation" in response["error"]["message"]
        else:
            assert "does not support elicitation" in text_of(response["result"])


async def test_a_client_that_refuses_is_believed(everything: RunningHub) -> None:
    async with talking(everything, "legacy") as client:
        client.answers = {"elicitation/create": {"action": "cancel"}}
        result = await client.call("present__test_input_required_result_elicitation")
        assert text_of(result) == "Hello, None!"


# One question, one client.


async def test_a_question_goes_to_the_client_that_caused_it_alone(
    yard: RunningHub, connect: Connect, server: str
) -> None:
    async with (
        connect() as client,
        talking(yard, name="idle") as idle,
        talking(yard, "legacy", "http", name="idle too") as other,
    ):
        await client.call(f"{server}__ask")
        await asyncio.gather(idle.result("ping"), other.result("ping"))
        assert (len(client.asked), idle.asked, other.asked) == (1, [], [])


@pytest.mark.parametrize("busy", KINDS, ids=["-".join(kind) for kind in KINDS])
@pytest.mark.parametrize("server", ["new", "oldweb", "newweb"])
async def test_a_busy_client_is_not_asked_what_another_caused(
    yard: RunningHub, connect: Connect, server: str, busy: tuple[str, str]
) -> None:
    async with (
        connect() as client,
        talking(yard, *busy, name="busy") as other,
        occupied(yard, other, server),
    ):
        await client.call(f"{server}__ask")
        assert (len(client.asked), other.asked) == (1, [])


@pytest.mark.parametrize("busy", KINDS, ids=["-".join(kind) for kind in KINDS])
async def test_a_call_that_asks_waits_until_its_question_can_be_nobody_elses(
    yard: RunningHub, connect: Connect, busy: tuple[str, str]
) -> None:
    """A legacy server on a pipe cannot say whose call a question belongs to."""
    async with connect() as client, talking(yard, *busy, name="busy") as other:
        await client.call("old__ask")
        async with occupied(yard, other, "old"):
            asking = client.group.create_task(client.call("old__ask"))
        assert "Ada" in text_of(await asking)
        assert (len(client.asked), other.asked) == (2, [])


@asynccontextmanager
async def occupied(hub: RunningHub, client: Talk, server: str) -> AsyncIterator[None]:
    """While inside, a client has a call under way that takes long."""
    waiting, cancelled = (len(hub.events(server, event)) for event in ("waiting", "cancelled"))
    message = client.message("tools/call", {"name": f"{server}__cancellable"})
    task = client.group.create_task(client.exchange(message))
    await hub.happened(server, "waiting", waiting + 1)
    try:
        yield
    finally:
        await client.cancel(message["id"], task)
        await hub.happened(server, "cancelled", cancelled + 1)


# What each era must see in answers.


@pytest.mark.parametrize("door", DOORS)
async def test_every_result_of_the_modern_era_says_that_it_is_complete(
    yard: RunningHub, door: str, server: str
) -> None:
    async with talking(yard, "modern", door) as client:
        asked: list[tuple[str, Json]] = [
            ("tools/call", {"name": f"{server}__echo", "arguments": {}}),
            ("prompts/get", {"name": f"{server}__plain"}),
            ("resources/read", {"uri": f"note://{server}/readme"}),
            ("completion/complete", completion(server)),
            ("tools/list", {}),
            ("resources/templates/list", {}),
            ("server/discover", {}),
        ]
        for method, params in asked:
            result = await client.result(method, params)
            assert result["resultType"] == "complete", method
            if method.endswith(("list", "read", "discover")):
                assert result["ttlMs"] >= 0 and result["cacheScope"] in ("private", "public")


def completion(server: str) -> Json:
    """A question for the completion of a prompt's argument."""
    ref = {"type": "ref/prompt", "name": f"{server}__greet"}
    return {"ref": ref, "argument": {"name": "who", "value": "A"}}


@pytest.mark.parametrize("server", ["new", "newweb"])
async def test_a_modern_server_sees_the_client_behind_the_hub(
    yard: RunningHub, server: str
) -> None:
    """Its capabilities decide what the server may ask, so they must be the caller's own."""
    for era in ("legacy", "modern"):
        async with talking(yard, era, capabilities={"roots": {}}) as client:
            params = {"name": f"{server}__sample", "arguments": {}}
            assert (await client.fault("tools/call", params))["code"] == -32021
        async with talking(yard, era, capabilities=ALL) as client:
            assert "hello" in text_of(await client.call(f"{server}__sample"))


async def test_the_envelope_of_a_modern_client_stays_on_its_hop(everything: RunningHub) -> None:
    async with talking(everything, "modern", "http") as client:
        result = await client.call("past__test_request_headers")
        assert result["structuredContent"] == {"names": []}


async def test_one_line_may_carry_both_eras(yard: RunningHub) -> None:
    async with talking(yard, "legacy") as client:
        marks = {
            META + "protocolVersion": MODERN,
            META + "clientInfo": client.info,
            META + "clientCapabilities": {},
        }
        assert "resultType" not in await client.result("tools/list")
        assert (await client.result("tools/list", meta=marks))["resultType"] == "complete"


async def test_the_callers_token_never_reaches_a_server(yard: RunningHub) -> None:
    async with talking(yard, "modern", "http") as client:
        for server in ("oldweb", "newweb"):
            seen = json.loads(text_of(await client.call(f"{server}__headers")))
            assert "authorization" not in seen
            assert TOKEN not in json.dumps(seen)


# Questions that are taken back.


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("server", LEGACY_SERVERS)
async def test_a_question_ends_with_the_call_that_raised_it(
    yard: RunningHub, server: str, door: str
) -> None:
    """More often than questions may be open at once, so that none stays behind."""
    async with talking(yard, "legacy", door) as client:
        for count in range(1, 41):
            open_question = hold(client)
            message = client.message("tools/call", {"name": f"{server}__ask", "arguments": {}})
            waiting = client.group.create_task(client.exchange(message))
            async with asyncio.timeout(60):
                question = await open_question
            await client.cancel(message["id"], waiting)
            if door == "line":  # over HTTP the question's own stream has ended
                notes = await client.wait_heard("notifications/cancelled", count)
                assert notes[-1]["requestId"] == question["id"]
    async with talking(yard, "legacy", door) as client:
        assert json.loads(text_of(await client.call(f"{server}__ask")))["action"] == "accept"


def hold(client: Talk) -> asyncio.Future[Json]:
    """The next question the client is asked; it is not answered."""
    asked: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
    take = client.take

    async def keep(message: Json) -> None:
        if "id" not in message:
            await take(message)
        elif not asked.done():
            asked.set_result(message)

    client.take = keep  # type: ignore[method-assign]
    return asked


async def test_a_person_may_take_longer_than_a_server(hasty: RunningHub) -> None:
    async with talking(hasty) as client, talking(hasty, "modern", name="b") as other:
        fault = await client.fault("tools/call", {"name": "a__sleep", "arguments": {"ms": 9000}})
        assert "did not answer tools/call within 0.4 s" in fault["message"]
        asked = hold(client)
        message = client.message("tools/call", {"name": "a__ask", "arguments": {}})
        waiting = client.group.create_task(client.exchange(message))
        question = await asked
        await asyncio.sleep(1.0)  # the person thinks
        answer = {"action": "accept", "content": {}}
        await client.say({"jsonrpc": "2.0", "id": question["id"], "result": answer})
        assert json.loads(text_of((await waiting)["result"])) == answer
        round_ = await begin(other, "a__ask")
        await asyncio.sleep(1.0)
        result = await other.result("tools/call", answered(round_, "a__ask"))
        assert result["resultType"] == "complete"


@pytest.fixture
def hasty() -> Iterator[RunningHub]:
    """A hub with little patience for servers."""
    with new_home() as home:
        servers = {"a": stdio_stub("a", home, "--era", "legacy")}
        with running_hub(servers, home=home, env={"TOOLYARD_CALL_TIMEOUT": "0.4"}) as hub:
            yield hub


LATE = """
import json, sys
held = None
for line in sys.stdin:
    message = json.loads(line)
    number, method = message.get("id"), message["method"]
    if method == "server/discover":
        held = number
        continue
    if method == "initialize":
        error = {"code": -32022, "message": "too old", "data": {"supported": ["2026-07-28"]}}
        print(json.dumps({"jsonrpc": "2.0", "id": number, "error": error}), flush=True)
        said = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        print(json.dumps({"jsonrpc": "2.0", "id": held, "result": said}), flush=True)
    elif method == "tools/list":
        tools = [{"name": "late", "inputSchema": {"type": "object"}}]
        print(json.dumps({"jsonrpc": "2.0", "id": number, "result": {"tools": tools}}), flush=True)
"""


async def test_a_slow_modern_server_is_not_taken_for_a_broken_old_one() -> None:
    """It gets both greetings, and may refuse the old one before it answers the new one."""
    with running_hub({"late": entry([sys.executable, "-c", LATE])}) as hub:
        (server,) = hub.status()["servers"]
        assert (server["status"], server["era"], server["tools"]) == ("ready", "modern", 1)
