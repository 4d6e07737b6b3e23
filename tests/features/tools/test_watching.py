"""Calls that a person watches: told of as they run, answered, cancelled; and what is counted."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.control.company import entry, send
from tests.control.watching import Watching
from tests.doors.doors import Doors, Json, open_doors
from tests.fixtures.stub_run import wait_recorded

CALLS = "/api/v1/calls"
SLOW = "ask,cancellable,echo,fail,progress"


@pytest_asyncio.fixture
async def yard(home: Path) -> AsyncIterator[Doors]:
    record = home / "one.jsonl"
    flags = ("--only", SLOW, "--record", str(record), "--era", "legacy")
    async with open_doors(home, {"one": entry("one", *flags)}) as doors:
        await doors.settled()
        yield doors


@asynccontextmanager
async def watching(yard: Doors, tool: str, **arguments: Any) -> AsyncIterator[Watching]:
    """Call a tool of the server, and watch."""
    body = json.dumps({"server": "one", "tool": tool, "arguments": arguments}).encode()
    async with yard.connected() as raw:
        await raw.send(yard.request("POST", CALLS, body))
        status, headers = await raw.head()
        assert (status, headers["content-type"][:17]) == (200, "text/event-stream")
        yield Watching(raw)


async def test_progress_and_the_result_come_as_events(yard: Doors) -> None:
    async with watching(yard, "progress", n=3) as call:
        assert set(await call.wait("begun")) == {"id"}
        assert [(await call.wait("progress"))["progress"] for _ in range(3)] == [1, 2, 3]
        assert (await call.wait("result"))["content"][0]["text"] == "3 steps"
        assert await call.next() is None


async def test_a_question_of_the_server_is_answered(yard: Doors) -> None:
    async with watching(yard, "ask", question="Who?") as call:
        path = f"{CALLS}/{(await call.wait('begun'))['id']}/answer"
        asked = await call.wait("question")
        assert asked["params"]["message"] == "Who?"
        said = {"question": asked["question"], "action": "accept", "content": {"name": "Ada"}}
        wrong = await send(yard, "POST", path, {**said, "question": 99})
        assert wrong.status == 404
        assert (await send(yard, "POST", path, said)).status == 200
        assert "Ada" in (await call.wait("result"))["content"][0]["text"]


async def test_a_call_is_cancelled_by_order(yard: Doors, home: Path) -> None:
    async with watching(yard, "cancellable") as call:
        path = f"{CALLS}/{(await call.wait('begun'))['id']}"
        await wait_recorded(home / "one.jsonl", "waiting")
        assert (await send(yard, "DELETE", path)).status == 200
        assert await call.wait("cancelled") == {}
        assert await call.next() is None
    await wait_recorded(home / "one.jsonl", "cancelled")
    assert (await send(yard, "DELETE", path)).status == 404


async def test_who_hangs_up_has_cancelled(yard: Doors, home: Path) -> None:
    async with watching(yard, "cancellable"):
        await wait_recorded(home / "one.jsonl", "waiting")
    await wait_recorded(home / "one.jsonl", "cancelled")


@pytest.mark.parametrize("tool", ["nothing", ""])
async def test_a_tool_that_is_not_there_ends_with_an_error(yard: Doors, tool: str) -> None:
    async with watching(yard, tool) as call:
        assert (await call.wait("result"))["isError"]


async def test_calls_are_counted_and_told_of(yard: Doors) -> None:
    async with yard.connected() as raw:
        await raw.send(yard.request("GET", "/api/v1/events"))
        await raw.head()
        events = Watching(raw)
        await events.wait("picture")
        for tool in ("echo", "echo", "fail"):
            body = {"server": "one", "tool": tool}
            await send(yard, "POST", "/api/v1/call", body)
        heard: list[Json] = []
        upto = 0
        while upto < 3:
            said = await events.wait("calls")
            assert said["since"] == upto
            heard, upto = [*heard, *said["groups"]], said["upto"]
        assert (upto, sum(group["calls"] for group in heard)) == (3, 3)
        assert {(group["agent"], group["server"]) for group in heard} == {("control", "one")}
        assert sum(group["errors"] for group in heard) == 1
    assert (await yard.get("/api/v1/figures"))["passed"] == 3
    row = await figures(yard)
    assert (row["calls"], row["errors"], row["agents"]) == (3, 1, {"control": 3})
    assert sum(row["minutes"]) == 3 and len(row["minutes"]) == 60
    assert row["p95_ms"] > 0 and row["schema_tokens"] > 0
    assert row["memory_bytes"] is None or row["memory_bytes"] > 1_000_000


async def figures(yard: Doors) -> Json:
    """The numbers of the one server."""
    (row,) = (await yard.get("/api/v1/figures"))["servers"]
    found: Json = row
    return found


async def test_what_a_server_offers_is_given_in_its_own_words(yard: Doors) -> None:
    offered = await yard.get("/api/v1/servers/one/offers")
    assert {tool["name"] for tool in offered["tools"]} == set(SLOW.split(","))
    assert all("inputSchema" in tool for tool in offered["tools"])
    assert offered["held"] == [] and offered["prompts"] and offered["resources"]
    assert (await send(yard, "GET", "/api/v1/servers/nobody/offers")).status == 404
