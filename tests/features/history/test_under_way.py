"""Who calls what now: calls are told of while their server works on them, or a person is asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest_asyncio

from tests.control.company import entry, send
from tests.control.watching import Watching
from tests.doors.doors import Doors, Json, open_doors
from tests.fixtures.stub_run import wait_recorded

CALLS = "/api/v1/calls"


@pytest_asyncio.fixture
async def yard(home: Path) -> AsyncIterator[Doors]:
    flags = ("--only", "ask,cancellable,echo", "--record", str(home / "one.jsonl"))
    async with open_doors(home, {"one": entry("one", *flags, "--era", "legacy")}) as doors:
        await doors.settled()
        yield doors


@asynccontextmanager
async def watching(yard: Doors, tool: str) -> AsyncIterator[Watching]:
    """Call a tool from the page, and watch."""
    body = json.dumps({"server": "one", "tool": tool, "arguments": {}}).encode()
    async with yard.connected() as raw:
        await raw.send(yard.request("POST", CALLS, body))
        await raw.head()
        yield Watching(raw)


async def under_way(yard: Doors) -> list[Json]:
    """The calls that no server has answered yet."""
    answer = await yard.get(CALLS)
    calls: list[Json] = answer["calls"]
    assert answer["total"] == len(calls)
    return calls


async def test_a_call_is_told_of_until_it_is_over(yard: Doors, home: Path) -> None:
    await yard.run("one__echo", text="hello")
    assert await under_way(yard) == []

    async with asyncio.TaskGroup() as group:
        call = group.create_task(yard.run("one__cancellable", ms=60_000))
        await wait_recorded(home / "one.jsonl", "waiting")
        (told,) = await under_way(yard)
        call.cancel()

    assert (told["agent"], told["server"], told["tool"]) == ("raw", "one", "cancellable")
    assert (told["caller"], told["waits_for"]) == ("control", "server")
    assert told["ms"] >= 0
    await wait_recorded(home / "one.jsonl", "cancelled")
    assert await under_way(yard) == []


async def test_a_call_that_waits_for_a_person_says_so(yard: Doors) -> None:
    async with watching(yard, "ask") as call:
        id_ = (await call.wait("begun"))["id"]
        question = (await call.wait("question"))["question"]

        (told,) = await under_way(yard)

        assert (told["tool"], told["waits_for"]) == ("ask", "person")
        answer = {"question": question, "action": "accept", "content": {"name": "Ada"}}
        await send(yard, "POST", f"{CALLS}/{id_}/answer", answer)
        await call.wait("result")
    assert await under_way(yard) == []

    (over,) = (await yard.get("/api/v1/history?tool=ask"))["calls"]
    assert over["person_ms"] > 0
    assert 0 < over["person_at_ms"] < over["person_at_ms"] + over["person_ms"] < over["ms"]


async def test_a_call_that_was_cancelled_while_a_person_was_asked_says_so(yard: Doors) -> None:
    async with watching(yard, "ask") as call:
        id_ = (await call.wait("begun"))["id"]
        await call.wait("question")
        await send(yard, "DELETE", f"{CALLS}/{id_}", None)
        await call.wait("cancelled")

    (over,) = (await yard.get("/api/v1/history?tool=ask"))["calls"]
    assert over["outcome"] == "cancelled"
    assert over["person_ms"] > 0


async def test_a_call_by_way_of_the_hubs_own_tool_has_the_name_of_the_other(
    yard: Doors, home: Path
) -> None:
    async with asyncio.TaskGroup() as group:
        arguments = {"server": "one", "tool": "cancellable", "arguments": {"ms": 60_000}}
        call = group.create_task(yard.run("toolyard_destroy", **arguments))
        await wait_recorded(home / "one.jsonl", "waiting")
        assert [told["tool"] for told in await under_way(yard)] == ["cancellable"]
        call.cancel()
