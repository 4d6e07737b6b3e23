"""What one replica holds is served by any: the others pass it on through the door for peers."""

from __future__ import annotations

import asyncio
import http.client
import itertools
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.hub import RunningHub
from tests.e2e.talk import Json, text_of
from tests.fixtures.postgres import PostgresServer
from tests.fleet.fleet import KEY, SharedHub, Wanderer, running_shared_fleet, wandering
from toolyard.wire.passes import PeerPasses
from toolyard.wire.seal import Seal

CODEX = "codex-mcp-client"
"""A client whose results are cut."""
CLIENTS = 6
ROUNDS = 4


@pytest.fixture(scope="module")
def fleet(postgres: PostgresServer) -> Iterator[list[SharedHub]]:
    """Three hubs that know each other."""
    with running_shared_fleet(postgres.new_yard(), 3) as hubs:
        yield hubs


async def test_an_answer_at_any_hub_reaches_the_one_that_asks(fleet: list[SharedHub]) -> None:
    for asking, other in itertools.permutations([hub.hub for hub in fleet], 2):
        async with wandering(asking) as client:
            client.answers_at = other
            assert json.loads(text_of(await client.call("old__ask")))["content"] == {"name": "Ada"}
            assert client.refusals == []


async def test_an_answer_that_nobody_waits_for_is_refused(fleet: list[SharedHub]) -> None:
    async with wandering(fleet[0].hub) as client:
        client.go(fleet[1].hub)
        await client.say({"jsonrpc": "2.0", "id": f"{fleet[0].name}.77", "result": {}})
        assert [refusal["status"] for refusal in client.refusals] == [503]


async def test_a_call_that_waits_for_answers_goes_on_from_any_hub(fleet: list[SharedHub]) -> None:
    first, second, third = (hub.hub for hub in fleet)
    params: Json = {"name": "old__ask", "arguments": {}}
    async with wandering(first, "modern") as client, wandering(first, "modern", name="x") as other:
        asked = await client.result("tools/call", params)
        again = {**params, "requestState": asked["requestState"]}
        again["inputResponses"] = {key: {"action": "decline"} for key in asked["inputRequests"]}
        other.go(second)
        assert "not yours" in (await other.fault("tools/call", again))["message"]
        client.go(second)
        assert (await client.result("tools/call", again))["resultType"] == "complete"
        client.go(third)
        assert "used" in (await client.fault("tools/call", again))["message"]


async def test_a_task_is_followed_and_ended_from_any_hub(fleet: list[SharedHub]) -> None:
    first, second, third = (hub.hub for hub in fleet)
    async with wandering(first) as client, wandering(first) as other:
        params = {"name": "old__echo", "arguments": {"text": "later"}, "task": {"ttl": 60000}}
        ids = []
        for hub in (first, second):
            client.go(hub)
            ids.append((await client.result("tools/call", params))["task"]["taskId"])
        for hub in (second, third, first):
            client.go(hub)
            for id_ in ids:
                assert (await client.result("tasks/get", {"taskId": id_}))["taskId"] == id_
                assert text_of(await client.result("tasks/result", {"taskId": id_})) == "later"
            listed = (await client.result("tasks/list"))["tasks"]
            assert {task["taskId"] for task in listed} == set(ids)
        other.go(second)
        assert "unknown task" in (await other.fault("tasks/get", {"taskId": ids[0]}))["message"]
        assert (await other.result("tasks/list"))["tasks"] == []


async def test_a_result_that_was_cut_is_read_at_any_hub(fleet: list[SharedHub]) -> None:
    first, *others = (hub.hub for hub in fleet)
    async with wandering(first, name=CODEX) as client, wandering(first, name=CODEX) as other:
        uri = (await client.call("old__payload", {"kib": 100}))["content"][1]["uri"]
        for hub in others:
            client.go(hub)
            (piece,) = (await client.result("resources/read", {"uri": uri}))["contents"]
            assert piece["uri"] == uri
            other.go(hub)
            assert "not kept" in (await other.fault("resources/read", {"uri": uri}))["message"]


async def test_a_wish_holds_at_every_hub_once_it_is_answered(fleet: list[SharedHub]) -> None:
    hubs = [hub.hub for hub in fleet]
    async with wandering(hubs[0]) as client:
        for hub in hubs:
            client.go(hub)
            await client.result("ping")
        for hub, level in zip(hubs, ("error", "debug", "alert"), strict=True):
            client.go(hub)
            await client.result("logging/setLevel", {"level": level})
            told = [await hears_log(client, other) for other in hubs]
            assert told == [level == "debug"] * len(hubs)


async def hears_log(client: Wanderer, hub: RunningHub) -> bool:
    """Whether a client is told what a server logs while it calls at a hub."""
    client.go(hub)
    client.heard.clear()
    await client.call("old__log", {"level": "info"})
    return "notifications/message" in {note["method"] for note in client.heard}


async def test_a_call_is_cancelled_from_any_hub(fleet: list[SharedHub]) -> None:
    first, *others = (hub.hub for hub in fleet)
    for hub in others:
        async with wandering(first) as client:
            before = len(first.events("old", "cancelled"))
            started = len(first.events("old", "waiting"))
            message = client.message("tools/call", {"name": "old__cancellable"})
            waiting = client.group.create_task(client.exchange(message))
            await first.happened("old", "waiting", started + 1)
            client.go(hub)
            await client.notify("notifications/cancelled", {"requestId": message["id"]})
            await first.happened("old", "cancelled", before + 1)
            waiting.cancel()


async def test_clients_that_go_round_all_hubs_notice_nothing(fleet: list[SharedHub]) -> None:
    """As behind a balancer that sends each message to the next hub."""
    async with asyncio.TaskGroup() as group:
        for number in range(CLIENTS):
            group.create_task(go_round([hub.hub for hub in fleet], number))


async def go_round(hubs: list[RunningHub], number: int) -> None:
    """Ask, answer and follow a task; every message goes to another hub than the last."""
    ring = itertools.cycle(hubs[number % 3 :] + hubs[: number % 3])
    era = "modern" if number % 2 else "legacy"
    async with wandering(next(ring), era, name=f"client-{number}") as client:
        for round_ in range(ROUNDS):
            client.ring = ring
            text = f"{number}.{round_}"
            assert text_of(await client.call("old__echo", {"text": text})) == text
            answer = json.loads(text_of(await client.call("old__ask")))
            assert answer["content"] == {"name": "Ada"}
            if era == "legacy":
                await follow_task(client, text)
            assert client.refusals == []


async def follow_task(client: Wanderer, text: str) -> None:
    params = {"name": "old__echo", "arguments": {"text": text}, "task": {"ttl": 60000}}
    id_ = (await client.result("tools/call", params))["task"]["taskId"]
    assert (await client.result("tasks/get", {"taskId": id_}))["taskId"] == id_
    assert text_of(await client.result("tasks/result", {"taskId": id_})) == text


# Strangers, and hubs that are gone.


def post(hub: SharedHub, path: str, body: bytes, **head: str) -> int:
    """Send something to the door for peers; the status."""
    connection = http.client.HTTPConnection("127.0.0.1", hub.peer_port, timeout=60)
    try:
        connection.request("POST", path, body, head)
        return connection.getresponse().status
    finally:
        connection.close()


def passes(key: str = KEY) -> PeerPasses:
    return PeerPasses(Seal([key]), "nobody", time.time)


def header(text: str) -> dict[str, Any]:
    return {"toolyard-pass": text}


def test_a_stranger_is_turned_away_at_the_door_for_peers(fleet: list[SharedHub]) -> None:
    hub, body = fleet[0], b"\x90"
    assert post(hub, "/request", body) == 401
    assert (
        post(hub, "/request", body, Authorization="Bearer only-for-these-tests-0123456789") == 401
    )
    wrong = KEY.replace("alone", "wrong")
    assert post(hub, "/request", body, **header(passes(wrong).make(hub.name, body))) == 401
    assert post(hub, "/request", body, **header(passes().make(fleet[1].name, body))) == 401
    assert post(hub, "/request", body + b"\x90", **header(passes().make(hub.name, body))) == 401
    made = header(passes().make(hub.name, body))
    assert [post(hub, "/request", body, **made) for _ in range(2)] == [400, 401]
    assert post(hub, "/mcp", body, **header(passes().make(hub.name, body))) == 400


async def test_what_a_hub_held_that_was_killed_is_lost_and_its_client_is_told(
    postgres: PostgresServer,
) -> None:
    with running_shared_fleet(postgres.new_yard(), 2) as (first, second):
        async with wandering(first.hub) as client:
            params = {"name": "old__echo", "arguments": {}, "task": {"ttl": 60000}}
            id_ = (await client.result("tools/call", params))["task"]["taskId"]
            first.hub.process.kill()
            first.hub.process.wait()
            client.go(second.hub)
            fault = await client.fault("tasks/get", {"taskId": id_})
            assert f"held by another replica, '{first.name}'" in fault["message"]
            assert fault["message"].endswith("call again")
            assert text_of(await client.call("old__echo", {"text": "again"})) == "again"
