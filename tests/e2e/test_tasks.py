"""Tasks of the modern era: begun, followed, answered and cancelled through the hub."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.e2e.hub import RunningHub, new_home, running_hub, stdio_stub
from tests.e2e.talk import ALL, PATIENCE, Json, Talk, talking, text_of

TASKS = "io.modelcontextprotocol/tasks"
ABLE = {**ALL, "extensions": {TASKS: {}}}
SLOW = "present__slow_compute"
DOORS = ("line", "http")


async def begin(client: Talk, name: str, /, **arguments: Any) -> str:
    """Call a tool that begins a task; its id."""
    handle = await client.result("tools/call", {"name": name, "arguments": arguments})
    assert handle["resultType"] == "task", handle
    id_: str = handle["taskId"]
    return id_


async def until(client: Talk, id_: str, status: str) -> Json:
    """The task, as soon as it has got so far."""
    async with asyncio.timeout(PATIENCE):
        while True:
            task = await client.result("tasks/get", {"taskId": id_})
            assert task["taskId"] == id_
            if task["status"] == status:
                return task
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("door", DOORS)
async def test_a_task_is_followed_to_its_result(everything: RunningHub, door: str) -> None:
    async with talking(everything, "modern", door, capabilities=ABLE) as client:
        found = await client.result("server/discover")
        assert found["capabilities"]["extensions"] == {TASKS: {}}
        id_ = await begin(client, SLOW, seconds=0.05, label="it")
        task = await until(client, id_, "completed")
        assert text_of(task["result"]) == "it took 0.05 s"
        assert (await client.result("tasks/cancel", {"taskId": id_}))["resultType"] == "complete"


@pytest.mark.parametrize("door", DOORS)
async def test_what_a_task_asks_is_answered_with_an_update(
    everything: RunningHub, door: str
) -> None:
    async with talking(everything, "modern", door, capabilities=ABLE) as client:
        id_ = await begin(client, "present__confirm_delete", filename="x")
        task = await until(client, id_, "input_required")
        assert task["inputRequests"]["confirm"]["method"] == "elicitation/create"
        answers = {"confirm": {"action": "accept", "content": {"confirm": True}}}
        await client.result("tasks/update", {"taskId": id_, "inputResponses": answers})
        assert text_of((await until(client, id_, "completed"))["result"]) == "deleted x: accept"


async def test_a_task_may_begin_behind_the_stable_tool(everything: RunningHub) -> None:
    async with talking(everything, "modern", capabilities=ABLE) as client:
        inner = {"seconds": 0, "label": "it"}
        asked = {"server": "present", "tool": "slow_compute", "arguments": inner}
        task = await until(client, await begin(client, "toolyard_destroy", **asked), "completed")
        assert text_of(task["result"]) == "it took 0 s"


@pytest.mark.parametrize("door", DOORS)
async def test_a_task_belongs_to_the_client_that_began_it(
    everything: RunningHub, door: str
) -> None:
    async with (
        talking(everything, "modern", door, capabilities=ABLE) as client,
        talking(everything, "modern", door, capabilities=ABLE, name="other") as other,
    ):
        id_ = await begin(client, SLOW, seconds=60, label="it")
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            fault = await other.fault(method, {"taskId": id_, "inputResponses": {}})
            assert (fault["code"], fault["message"]) == (-32602, f"unknown task {id_!r}")
        await client.result("tasks/cancel", {"taskId": id_})
        await until(client, id_, "cancelled")


@pytest.mark.parametrize("door", DOORS)
async def test_who_does_not_declare_tasks_is_told_what_is_missing(
    everything: RunningHub, door: str
) -> None:
    async with talking(everything, "modern", door) as client:
        result = await client.call(SLOW, {"seconds": 0, "label": "it"})
        assert (result["resultType"], text_of(result)) == ("complete", "it took 0 s")
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            fault = await client.fault(method, {"taskId": "any", "inputResponses": {}})
            needed: Json = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
            assert (fault["code"], fault["data"]) == (-32021, needed)


async def test_methods_of_the_other_era_are_not_known(everything: RunningHub) -> None:
    async with talking(everything, "modern", capabilities=ABLE) as client:
        for method in ("tasks/list", "tasks/result"):
            assert (await client.fault(method, {"taskId": "any"}))["code"] == -32601
    async with talking(everything, "legacy", capabilities=ABLE) as client:
        assert (await client.fault("tasks/update", {"taskId": "any"}))["code"] == -32601


async def test_tasks_of_the_modern_era_are_not_for_legacy_clients(everything: RunningHub) -> None:
    async with talking(everything, "legacy", capabilities=ABLE) as client:
        asked = {"protocolVersion": "2025-11-25", "capabilities": ABLE, "clientInfo": client.info}
        said = await client.result("initialize", asked)
        assert "extensions" not in said["capabilities"] and "tasks" not in said["capabilities"]
        result = await client.call(SLOW, {"seconds": 0, "label": "it"})
        assert text_of(result) == "it took 0 s"


async def test_servers_that_count_alike_do_not_take_each_others_tasks() -> None:
    with new_home() as home:
        names = ("one", "two")
        servers = {
            name: stdio_stub(name, home, "--era", "legacy", "--tasks", "--only", "echo")
            for name in names
        }
        with running_hub(servers, home=home) as hub:
            async with talking(hub) as client:
                ids = {}
                for name in names:
                    params = {"name": f"{name}__echo", "arguments": {"text": name}, "task": {}}
                    ids[name] = (await client.result("tools/call", params))["task"]["taskId"]
                assert len(set(ids.values())) == 2
                for name, id_ in ids.items():
                    task = await client.result("tasks/get", {"taskId": id_})
                    assert task["taskId"] == id_
                    assert text_of(await client.result("tasks/result", {"taskId": id_})) == name
                listed = (await client.result("tasks/list"))["tasks"]
                assert [task["taskId"] for task in listed] == list(ids.values())
