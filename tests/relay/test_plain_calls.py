"""A call that waits for its server alone has no task, and ends like one that has."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tests.control.company import entry
from tests.doors.doors import Doors, Json, Raw, call, mirrored, modern, open_doors

CALLS = 20
WAIT = {"name": "s__cancellable", "arguments": {"ms": 600_000}}


@asynccontextmanager
async def yard(home: Path, era: str = "legacy") -> AsyncIterator[Doors]:
    """A hub in this loop, in front of a server that makes its callers wait."""
    servers = {"s": entry("s", "--only", "echo,cancellable", "--era", era)}
    async with open_doors(home, servers) as doors:
        await doors.settled()
        yield doors


@asynccontextmanager
async def calling(
    doors: Doors, era: str, session: dict[str, str], count: int
) -> AsyncIterator[list[Raw]]:
    """Clients whose calls are at the server, each on a connection of its own."""
    make = modern if era == "modern" else call
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(doors.connected()) for _ in range(count)]
        for number, client in enumerate(clients, 1):
            message = {**make("tools/call", WAIT), "id": number}
            head = mirrored(message) if era == "modern" else session
            body = json.dumps(message).encode()
            await client.send(doors.request("POST", "/mcp", body, head))
        await doors.until(lambda: under_way(doors, count))
        yield clients


async def under_way(doors: Doors, count: int) -> bool:
    """Tell whether so many calls are under way."""
    return bool((await doors.get("/api/v1/calls"))["total"] == count)


@pytest.mark.parametrize(
    ("client", "server"), [("legacy", "legacy"), ("modern", "modern"), ("modern", "legacy")]
)
async def test_calls_under_way_have_no_task_each(home: Path, client: str, server: str) -> None:
    async with yard(home, server) as doors:
        session = await doors.initialize()
        before = len(asyncio.all_tasks())
        async with calling(doors, client, session, CALLS):
            assert len(asyncio.all_tasks()) - before < CALLS


async def test_a_call_that_is_taken_back_is_answered_and_recorded_as_cancelled(home: Path) -> None:
    async with yard(home) as doors:
        session = await doors.initialize()
        async with calling(doors, "legacy", session, 1) as (client,):
            notice = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
            await doors.post({**notice, "params": {"requestId": 1}}, session)
            assert "cancelled" in (await client.answer()).json()["error"]["message"]
            assert await under_way(doors, 0)
        (row,) = (await doors.get("/api/v1/history"))["calls"]
        assert row["outcome"] == "cancelled"


async def test_a_call_that_cannot_be_sent_is_answered_and_hurts_no_other(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with yard(home) as doors:
        session = await doors.initialize()
        message = call("tools/call", {"name": "s__echo", "arguments": {"text": "hello"}})
        body = json.dumps(message).encode()
        async with doors.connected() as client:

            async def ask() -> Json:
                await client.send(doors.request("POST", "/mcp", body, session))
                answer: Json = (await client.answer()).json()
                return answer

            with monkeypatch.context() as patch:
                patch.setattr("toolyard.links.stdio.one_line", _short_of_memory)
                assert "no memory" in (await ask())["error"]["message"]
            assert (await ask())["result"]["content"][0]["text"] == "hello"


def _short_of_memory(_raw: bytes) -> bytes:
    raise MemoryError
