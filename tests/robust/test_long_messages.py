"""A message that is too long costs the call it answers, and nobody else."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.doors.doors import Doors, open_doors
from tests.e2e.hub import RunningHub
from tests.e2e.talk import Json, LineTalk, Talk, talking, text_of

WORDY = Path(__file__).with_name("wordy.py")
LIMIT = 64 << 10
LONG = {"size": 12 * LIMIT}
"""More than one read brings, and less than what ends a server."""


@asynccontextmanager
async def wordy(home: Path) -> AsyncIterator[Doors]:
    """A hub in front of a server that may send more than it should."""
    servers = {"w": {"command": sys.executable, "args": [str(WORDY)]}}
    async with open_doors(
        home, servers, server_message_limit=LIMIT, client_message_limit=LIMIT
    ) as doors:
        await doors.settled()
        yield doors


@asynccontextmanager
async def client(doors: Doors, name: str, door: str = "line") -> AsyncIterator[Talk]:
    hub = RunningHub(f"http://127.0.0.1:{doors.port}", doors.home, None)  # type: ignore[arg-type]
    async with talking(hub, "legacy", door, name=name) as talk:
        yield talk


async def until_under_way(doors: Doors, calls: int) -> None:
    """Wait until so many calls are at the server."""

    async def holds() -> bool:
        rows: list[Json] = (await doors.get("/api/v1/instances"))["instances"]
        return [row["calls"] for row in rows] == [calls]

    await doors.until(holds)


def is_named(fault: Json) -> bool:
    """Whether an error says what was too long, and what to do."""
    text = fault["message"]
    return f"more than {LIMIT} bytes" in text and "server_message_limit" in text


@pytest.mark.parametrize("layout", ["first", "last"])
@pytest.mark.parametrize("door", ["line", "http"])
async def test_an_answer_too_long_fails_its_own_call_and_the_server_lives_on(
    home: Path, door: str, layout: str
) -> None:
    async with (
        wordy(home) as doors,
        client(doors, "one", door) as one,
        client(doors, "two", door) as two,
    ):
        pid = text_of(await one.call("w__pid"))
        holding = two.group.create_task(two.call("w__hold"))
        await until_under_way(doors, 1)
        asked = {"name": "w__say", "arguments": {**LONG, "layout": layout}}
        assert is_named(await one.fault("tools/call", asked))
        await one.call("w__let_go")
        assert text_of(await holding) == "let go"
        assert text_of(await two.call("w__pid")) == pid


async def test_an_answer_that_hides_its_id_is_of_the_only_call_under_way(home: Path) -> None:
    async with wordy(home) as doors, client(doors, "one") as one:
        asked = {"name": "w__say", "arguments": {**LONG, "layout": "hidden"}}
        assert is_named(await one.fault("tools/call", asked))
        assert text_of(await one.call("w__pid"))


async def test_an_answer_that_hides_its_id_is_of_the_last_call_left_unanswered(home: Path) -> None:
    async with wordy(home) as doors, client(doors, "one") as one, client(doors, "two") as two:
        holding = two.group.create_task(two.call("w__hold"))
        await until_under_way(doors, 1)
        asked = {"name": "w__say", "arguments": {**LONG, "layout": "hidden"}}
        failing = one.group.create_task(one.fault("tools/call", asked))
        await until_under_way(doors, 2)
        assert text_of(await two.call("w__let_go")) == "done"
        assert text_of(await holding) == "let go"
        assert is_named(await failing)


async def test_a_notification_too_long_is_left_out_and_its_call_is_answered(home: Path) -> None:
    async with wordy(home) as doors, client(doors, "one") as one:
        assert text_of(await one.call("w__chat", LONG)) == "short"
        assert one.heard == []


async def test_a_client_s_request_that_is_too_long_is_refused_by_its_id_and_it_may_go_on(
    home: Path,
) -> None:
    async with wordy(home) as doors, client(doors, "one") as one:
        asked = {"name": "w__pid", "arguments": {"more": "x" * 2 * LIMIT}}
        fault = await one.fault("tools/call", asked)
        assert f"larger than {LIMIT} bytes" in fault["message"]
        assert text_of(await one.call("w__pid"))


async def test_a_client_whose_message_never_ends_is_told_so_and_read_no_more(home: Path) -> None:
    async with wordy(home) as doors, client(doors, "one") as one:
        assert isinstance(one, LineTalk)
        told: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        one.waiting[None] = told
        for _ in range(20):
            one.writer.write(b"x" * LIMIT)
            await one.writer.drain()
        async with asyncio.timeout(60):
            assert "does not end" in json.dumps(await told)
