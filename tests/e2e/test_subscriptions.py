"""A subscription is acknowledged when the server has it, and not before."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.e2e.hub import RunningHub, entry, new_home, running_hub
from tests.e2e.talk import ACKNOWLEDGED, ALL, PATIENCE, Json, Talk, listening, talking, text_of

RELUCTANT = Path(__file__).with_name("reluctant.py")
URI = "note://one"
UPDATED = "notifications/resources/updated"
TASKS = "io.modelcontextprotocol/tasks"
ABLE = {**ALL, "extensions": {TASKS: {}}}
ERAS = ("legacy", "modern")


@pytest.fixture(params=ERAS)
def hub(request: pytest.FixtureRequest) -> Iterator[RunningHub]:
    """A hub before one server that grants subscriptions only when told to."""
    command = [sys.executable, str(RELUCTANT), request.param]
    with new_home() as home, running_hub({"one": entry(command)}, home=home) as running:
        yield running


async def decide(client: Talk, how: str) -> None:
    """Let the server decide on what waits, as soon as something does."""
    async with asyncio.timeout(PATIENCE):
        while text_of(await client.call(f"one__{how}")) == "0":  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@asynccontextmanager
async def waiting(client: Talk, method: str, params: Json) -> AsyncIterator[asyncio.Task[Json]]:
    """A request that is under way."""
    task = client.group.create_task(client.request(method, params))
    yield task
    await task


@pytest.mark.parametrize("door", ["line", "http"])
async def test_a_legacy_client_is_answered_when_the_server_has_the_subscription(
    hub: RunningHub, door: str
) -> None:
    async with talking(hub, door=door) as client, talking(hub, "modern") as other:
        async with waiting(client, "resources/subscribe", {"uri": URI}) as subscribing:
            await other.call("one__change")
            assert not subscribing.done()
            await decide(other, "grant")
        assert subscribing.result()["result"] == {}
        await other.call("one__change")
        assert (await client.wait_heard(UPDATED))[0] == {"uri": URI}


@pytest.mark.parametrize("door", ["line", "http"])
async def test_a_modern_client_is_acknowledged_when_the_server_has_the_subscription(
    hub: RunningHub, door: str
) -> None:
    async with talking(hub, "modern", door) as client, talking(hub, "modern") as other:
        asked = {"notifications": {"resourceSubscriptions": [URI]}}
        message = client.message("subscriptions/listen", asked)
        open_ = client.group.create_task(client.exchange(message))
        await other.call("one__change")
        assert ACKNOWLEDGED not in [heard["method"] for heard in client.heard]
        await decide(other, "grant")
        (acknowledged,) = await client.wait_heard(ACKNOWLEDGED)
        assert acknowledged["notifications"] == {"resourceSubscriptions": [URI]}
        await other.call("one__change")
        assert (await client.wait_heard(UPDATED))[0]["uri"] == URI
        await client.cancel(message["id"], open_)


async def test_a_change_from_before_the_acknowledgement_is_told_after_it(hub: RunningHub) -> None:
    async with talking(hub, "modern") as client, talking(hub, "modern") as other:
        asked = {"notifications": {"resourceSubscriptions": [URI]}}
        message = client.message("subscriptions/listen", asked)
        open_ = client.group.create_task(client.exchange(message))
        await decide(other, "hurry")
        await client.wait_heard(UPDATED)
        assert [heard["method"] for heard in client.heard] == [ACKNOWLEDGED, UPDATED]
        await client.cancel(message["id"], open_)


async def test_what_a_server_refuses_is_not_acknowledged(hub: RunningHub) -> None:
    async with talking(hub) as client, talking(hub, "modern") as other:
        for _ in range(2):  # the second is asked again, not answered from memory
            async with waiting(client, "resources/subscribe", {"uri": URI}) as subscribing:
                await decide(other, "refuse")
            assert "are not told" in subscribing.result()["error"]["message"]
        async with waiting(client, "resources/subscribe", {"uri": URI}) as subscribing:
            await decide(other, "grant")
        assert subscribing.result()["result"] == {}


async def test_a_second_follower_does_not_interrupt_the_first(hub: RunningHub) -> None:
    async with talking(hub) as client, talking(hub) as other, talking(hub, "modern") as third:
        async with waiting(client, "resources/subscribe", {"uri": URI}):
            await decide(third, "grant")
        assert await other.result("resources/subscribe", {"uri": URI}) == {}
        await third.call("one__change")
        for follower in (client, other):
            await follower.wait_heard(UPDATED)


# Tasks.


@pytest.mark.parametrize("hub", ["modern"], indirect=True)
async def test_changes_of_a_task_are_told_to_the_client_that_began_it(hub: RunningHub) -> None:
    async with (
        talking(hub, "modern", capabilities=ABLE) as client,
        talking(hub, "modern", name="other", capabilities=ABLE) as other,
    ):
        begun = await client.result("tools/call", {"name": "one__begin", "arguments": {}})
        assert (begun["resultType"], begun["taskId"]) == ("task", "t1")
        granting = other.group.create_task(decide(other, "grant"))
        async with listening(client, taskIds=["t1", "t2"]) as acknowledged:
            assert acknowledged["notifications"] == {"taskIds": ["t1"]}
            await granting
            await other.call("one__change")
            (told,) = await client.wait_heard("notifications/tasks")
            assert (told["taskId"], told["status"]) == ("t1", "completed")
            assert told["_meta"] == acknowledged["_meta"]
        async with listening(other, taskIds=["t1"]) as acknowledged:
            assert acknowledged["notifications"] == {}


@pytest.mark.parametrize("hub", ["modern"], indirect=True)
async def test_who_does_not_declare_tasks_cannot_follow_them(hub: RunningHub) -> None:
    async with talking(hub, "modern") as client:
        fault = await client.fault("subscriptions/listen", {"notifications": {"taskIds": ["t1"]}})
        assert fault["code"] == -32021
