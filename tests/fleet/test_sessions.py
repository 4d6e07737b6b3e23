"""Any replica serves a legacy session it never saw, and knows what it cannot serve."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator

import pytest

from tests.e2e.hub import RunningHub, toolyard
from tests.e2e.talk import ALL, Json, text_of
from tests.fleet.fleet import KEY, Wanderer, running_fleet, usual_servers, wandering

CODEX = "codex-mcp-client"
"""A client whose results are cut."""
LOGGED = "notifications/message"
NEW = KEY.replace("alone", "later")


@pytest.fixture(scope="module")
def fleet() -> Iterator[list[RunningHub]]:
    """Three hubs that share a key, of which the last has got a new one beside it."""
    with usual_servers() as servers, running_fleet(servers, [KEY, KEY, f"{NEW},{KEY}"]) as hubs:
        yield hubs


async def test_a_session_goes_from_hub_to_hub(fleet: list[RunningHub]) -> None:
    async with wandering(fleet[0]) as client:
        for hub in (*fleet, *reversed(fleet)):
            client.go(hub)
            for server in ("web", "old"):
                result = await client.call(f"{server}__echo", {"text": hub.url})
                assert text_of(result) == hub.url
        assert len(client.session["Mcp-Session-Id"]) <= 1024


async def test_what_a_client_can_do_is_known_everywhere(fleet: list[RunningHub]) -> None:
    first, second, third = fleet
    async with wandering(first) as able, wandering(first, capabilities={}) as unable:
        able.go(second)
        assert json.loads(text_of(await able.call("old__ask")))["content"] == {"name": "Ada"}
        unable.go(third)
        assert "does not support elicitation" in text_of(await unable.call("old__ask"))


async def test_a_client_is_shown_what_fits_it_everywhere(fleet: list[RunningHub]) -> None:
    async with wandering(fleet[0], name=CODEX) as client:
        client.go(fleet[1])
        assert "cut by toolyard" in text_of(await client.call("old__payload", {"kib": 100}))


async def test_a_log_level_holds_where_it_was_set(fleet: list[RunningHub]) -> None:
    async with wandering(fleet[0]) as client:
        client.go(fleet[1])
        await client.result("logging/setLevel", {"level": "error"})
        await client.call("old__log", {"level": "info", "text": "quiet"})
        await client.call("old__log", {"level": "error", "text": "loud"})
        heard = await client.wait_heard(LOGGED)
        assert [params["level"] for params in heard] == ["error"]


async def test_streams_and_changes_come_from_the_hub_that_is_listened_to(
    fleet: list[RunningHub],
) -> None:
    async with wandering(fleet[0]) as client:
        client.go(fleet[2])
        ready = asyncio.Event()
        listening = client.group.create_task(client.listen(ready))
        await ready.wait()
        await client.result("resources/subscribe", {"uri": "note://old/counter"})
        await client.call("old__touch")
        heard = await client.wait_heard("notifications/resources/updated")
        assert heard == [{"uri": "note://old/counter"}]
        listening.cancel()


async def test_an_id_that_was_changed_is_unknown(fleet: list[RunningHub]) -> None:
    async with wandering(fleet[0]) as client:
        client.go(fleet[1])
        whole = client.session["Mcp-Session-Id"]
        middle = len(whole) // 2
        for wrong in (whole[:-1], whole + "A", whole[:middle] + "~" + whole[middle + 1 :], "x"):
            client.session["Mcp-Session-Id"] = wrong
            assert await client.status() == 404
        client.session["Mcp-Session-Id"] = whole
        assert await client.status() == 200


async def test_a_session_is_for_the_token_that_began_it(fleet: list[RunningHub]) -> None:
    token = new_token(fleet[1])
    async with wandering(fleet[0]) as client:
        client.go(fleet[1])
        assert await client.status("tools/list", token) == 404
        assert await client.status("tools/list") == 200


async def test_a_session_is_for_the_path_where_it_began(fleet: list[RunningHub]) -> None:
    async with wandering(fleet[0], path="/s/web") as client:
        client.go(fleet[1])
        assert text_of(await client.call("echo", {"text": "here"})) == "here"
        client.path = ""
        client.go(fleet[1])
        assert await client.status() == 404


async def test_a_session_that_was_ended_is_over_there(fleet: list[RunningHub]) -> None:
    async with wandering(fleet[0]) as client:
        client.go(fleet[1])
        assert await client.end() == 200
        assert await client.status() == 404
        assert await client.end() == 404


async def test_a_new_key_opens_nothing_where_it_is_not_known(fleet: list[RunningHub]) -> None:
    first, _, renewed = fleet
    async with wandering(renewed) as client:
        client.go(first)
        assert await client.status() == 404
        client.go(renewed)
        assert await client.status() == 200


async def test_a_modern_client_needs_no_session(fleet: list[RunningHub]) -> None:
    async with wandering(fleet[0], "modern") as client:
        for hub in fleet:
            client.go(hub)
            assert text_of(await client.call("old__echo", {"text": "x"})) == "x"


# What one hub holds.


async def test_a_question_says_which_hub_asks(fleet: list[RunningHub]) -> None:
    first, second, _ = fleet
    async with wandering(first) as client:
        await client.call("old__ask")
        client.go(second)
        await client.call("old__ask")
        assert [question["id"] for question in client.asked] == ["r1.1", "r2.1"]


async def test_an_answer_at_another_hub_is_not_taken_for_one_of_its_own(
    fleet: list[RunningHub],
) -> None:
    first, second, _ = fleet
    async with wandering(first) as client:
        client.answers_at = second
        calling = client.group.create_task(client.call("old__ask"))
        await until_refused(client)
        assert client.refusals[0]["status"] == 503
        assert_held_by("r1", client.refusals[0]["error"])
        await answer_at(first, client)
        assert json.loads(text_of(await calling))["content"] == {"name": "Ada"}


async def test_a_call_that_waits_for_answers_is_held_by_one_hub(fleet: list[RunningHub]) -> None:
    first, second, _ = fleet
    params: Json = {"name": "old__ask", "arguments": {}}
    async with wandering(first, "modern") as client, wandering(first, "modern", name="x") as other:
        asked = await client.result("tools/call", params)
        again = {**params, "requestState": asked["requestState"]}
        again["inputResponses"] = {key: {"action": "decline"} for key in asked["inputRequests"]}
        client.go(second)
        assert_held_by("r1", await client.fault("tools/call", again))
        for hub in (first, second):
            other.go(hub)
            assert "not yours" in (await other.fault("tools/call", again))["message"]
        client.go(first)
        assert (await client.result("tools/call", again))["resultType"] == "complete"
        assert "used" in (await client.fault("tools/call", again))["message"]


async def test_a_task_is_held_by_one_hub(fleet: list[RunningHub]) -> None:
    first, second, _ = fleet
    async with wandering(first) as client, wandering(first) as other:
        params = {"name": "old__echo", "arguments": {"text": "later"}, "task": {"ttl": 60000}}
        id_ = (await client.result("tools/call", params))["task"]["taskId"]
        client.go(second)
        assert_held_by("r1", await client.fault("tasks/get", {"taskId": id_}))
        for hub in (first, second):
            other.go(hub)
            assert "unknown task" in (await other.fault("tasks/get", {"taskId": id_}))["message"]
        client.go(first)
        assert (await client.result("tasks/get", {"taskId": id_}))["taskId"] == id_
        assert text_of(await client.result("tasks/result", {"taskId": id_})) == "later"
        assert [task["taskId"] for task in (await client.result("tasks/list"))["tasks"]] == [id_]


async def test_a_result_that_was_cut_is_held_by_one_hub(fleet: list[RunningHub]) -> None:
    first, second, _ = fleet
    async with wandering(first, name=CODEX) as client, wandering(first, name=CODEX) as other:
        uri = (await client.call("old__payload", {"kib": 100}))["content"][1]["uri"]
        client.go(second)
        assert_held_by("r1", await client.fault("resources/read", {"uri": uri}))
        other.go(second)
        assert "not kept" in (await other.fault("resources/read", {"uri": uri}))["message"]
        client.go(first)
        assert (await client.result("resources/read", {"uri": uri}))["contents"][0]["uri"] == uri


async def test_a_link_in_a_result_is_read_at_any_hub(fleet: list[RunningHub]) -> None:
    async with wandering(fleet[0]) as client:
        link = (await client.call("shelf__find"))["content"][0]["uri"]
        for hub in fleet:
            client.go(hub)
            (book,) = (await client.result("resources/read", {"uri": link}))["contents"]
            assert (book["uri"], book["text"]) == (link, "the ninth")


def new_token(hub: RunningHub) -> str:
    """Make a token of an agent."""
    command = [*toolyard("token", "create", "other"), "--json"]
    made = subprocess.run(command, env=hub.env, capture_output=True, timeout=60, check=True)
    token: str = json.loads(made.stdout)["token"]
    return token


def assert_held_by(replica: str, fault: Json) -> None:
    """Check that an error says who has it, and what to do."""
    assert fault["code"] == -32000
    assert f"held by another replica, '{replica}'" in fault["message"]
    assert fault["message"].endswith("call again")


async def until_refused(client: Wanderer) -> None:
    """Wait until an answer was not taken."""
    async with asyncio.timeout(60):
        while not client.refusals:  # noqa: ASYNC110 - the answer of a request that is no call
            await asyncio.sleep(0.01)


async def answer_at(hub: RunningHub, client: Wanderer) -> None:
    """Answer the last question once more, at this hub."""
    client.answers_at = hub
    question = client.asked[-1]
    answer = client.answers[question["method"]]
    await client.say({"jsonrpc": "2.0", "id": question["id"], "result": answer})


# Hubs that come and go.


async def test_a_session_outlives_the_hub_where_it_began() -> None:
    with usual_servers() as servers, running_fleet(servers, [KEY, KEY]) as (first, second):
        async with wandering(first, "legacy", capabilities=ALL) as client:
            await client.call("old__echo")
            first.process.kill()
            first.process.wait()
            client.go(second)
            assert text_of(await client.call("web__echo", {"text": "still here"})) == "still here"


async def test_without_a_key_every_hub_is_alone() -> None:
    with usual_servers() as servers, running_fleet(servers, ["", ""]) as (first, second):
        async with wandering(first) as client:
            assert len(client.session["Mcp-Session-Id"]) == 32
            client.go(second)
            assert await client.status() == 404
            client.go(first)
            await client.call("old__ask")
            assert [question["id"] for question in client.asked] == [1]
