"""More calls than a server may have under way wait in line, within bounds, and in turn."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.doors.doors import INITIALIZE, Doors, Json, call, mirrored, modern, open_doors
from tests.e2e.hub import entry
from tests.fixtures.stub_run import recorded, running_http_stub, stub_command, wait_recorded
from tests.house.tree import ROOT
from tests.instances.yard import socket_of
from toolyard.links.link import CALLS_ALLOWED
from toolyard.links.waiting_line import PLACES

CALLS = 1000
HANG = 120.0


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


class Line:
    """A client on a line, and the calls that it makes there."""

    def __init__(self, doors: Doors, era: str = "legacy") -> None:
        self.doors = doors
        self.make = modern if era == "modern" else call
        self.answers: dict[Any, Json] = {}

    async def __aenter__(self) -> Line:
        socket = socket_of(self.doors.home)
        self.reader, self.writer = await asyncio.open_unix_connection(socket, limit=1 << 20)
        if self.make is call:
            self.send({**call("initialize", INITIALIZE), "id": "begin"})
            await self.answer("begin")
        return self

    def send(self, *messages: Json) -> None:
        """Send all of these at once."""
        self.writer.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def ask(self, *names: str) -> None:
        """Make calls that are answered with their names once the gate is open."""
        self.send(*(self.gated(name) for name in names))

    def gated(self, name: str) -> Json:
        """A call that is answered once the gate is open."""
        return {**self.make("tools/call", gated(self.doors, name)), "id": name}

    async def answer(self, id_: Any) -> Json:
        """The answer to one request."""
        async with asyncio.timeout(HANG):
            while id_ not in self.answers:
                message = json.loads(await self.reader.readline())
                if "id" in message:
                    assert message["id"] not in self.answers
                    self.answers[message["id"]] = message
        return self.answers[id_]

    async def text(self, id_: str) -> str:
        """The text that a call was answered with, or of its error."""
        answer = await self.answer(id_)
        if "error" in answer:
            return str(answer["error"]["message"])
        return str(answer["result"]["content"][0]["text"])

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()
        await self.writer.wait_closed()


def gated(doors: Doors, name: str) -> Json:
    """The params of a call that is answered with this text once the gate is open."""
    return {"name": "s__gate", "arguments": {"until": str(doors.home / "open"), "text": name}}


def names(client: str, count: int) -> list[str]:
    return [f"{client} {number}" for number in range(count)]


def flags(home: Path, era: str) -> list[str]:
    record = ("--record", str(home / "s.jsonl"), "--record-all")
    return ["--name", "s", "--only", "gate,echo", "--tools-only", "--era", era, *record]


@asynccontextmanager
async def yard(home: Path, **changes: Any) -> AsyncIterator[Doors]:
    """A hub in this loop, in front of a server whose calls wait at a gate."""
    servers = {"s": entry(stub_command(*flags(home, "legacy")))}
    async with open_doors(home, servers, **changes) as doors:
        await doors.settled()
        yield doors


@asynccontextmanager
async def busy(home: Path, **changes: Any) -> AsyncIterator[tuple[Doors, Line]]:
    """The same, with as many calls under way as there may be, of the client `first`."""
    async with yard(home, **changes) as doors, Line(doors) as first:
        first.ask(*names("first", CALLS_ALLOWED))
        await under_way(doors, CALLS_ALLOWED)
        yield doors, first


async def under_way(doors: Doors, count: int) -> None:
    """Wait until so many calls are under way, and what is too much in line."""

    async def is_so() -> bool:
        told = await doors.get("/api/v1/calls")
        in_line = max(0, count - CALLS_ALLOWED)
        # What the hub itself asks of the server at that moment counts, too.
        return bool(told["total"] == count and in_line <= told["in_line"] <= in_line + 5)

    await doors.until(is_so, HANG)


def reached(home: Path) -> list[str]:
    """The names of the calls that have reached the server, in their order."""
    messages = [event["message"] for event in recorded(home / "s.jsonl", "message")]
    calls = [message for message in messages if message.get("method") == "tools/call"]
    return [message["params"]["arguments"]["text"] for message in calls]


def open_gate(home: Path) -> None:
    (home / "open").touch()


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("server", ["legacy", "modern"])
@pytest.mark.parametrize("client", ["legacy", "modern"])
async def test_a_thousand_calls_at_once_to_one_server_are_all_answered(
    home: Path,
    stack: ExitStack,
    client: str,
    server: str,
    transport: str,
    record_property: Callable[[str, object], None],
) -> None:
    entries: Json = {"s": entry(stub_command(*flags(home, server)))}
    if transport == "http":
        entries = {"s": {"url": stack.enter_context(running_http_stub(*flags(home, server)))}}
    async with open_doors(home, entries, queue_timeout=600.0) as doors:
        await doors.settled()
        asked = names(client, CALLS)
        async with Line(doors, client) as line:
            line.ask(*asked)
            await under_way(doors, CALLS)
            at_server = len(reached(home))
            open_gate(home)
            answers = [await line.text(name) for name in asked]
    assert answers == asked
    assert at_server <= CALLS_ALLOWED
    assert sorted(reached(home)) == sorted(asked)
    record_property("figure", f"{CALLS} calls at once, {CALLS_ALLOWED} under way, all answered")


async def test_as_many_calls_wait_as_the_reference_says_and_others_find_room(home: Path) -> None:
    reference = (ROOT / "docs" / "reference" / "settings.md").read_text("utf-8")
    (most,) = re.findall(r"\| calls under way per server \| (\d+);", reference)
    (places,) = re.findall(r"\| calls that wait in line for one server \| ([\d,]+)", reference)
    assert (int(most), int(places.replace(",", ""))) == (CALLS_ALLOWED, PLACES)
    share = PLACES // 2
    async with busy(home, queue_timeout=600.0) as (doors, first):
        first.ask(*names("more", share + 1))

        refused = (await first.answer(f"more {share}"))["error"]

        assert f"'s' has {most} calls under way; {share} more wait" in refused["message"]
        assert f"{share} of them this client's" in refused["message"]
        assert "try again in 1 s" in refused["message"] and refused["data"] == {"retryAfter": 1}
        async with Line(doors) as second:
            second.ask("second")
            await under_way(doors, CALLS_ALLOWED + share + 1)
            open_gate(home)
            assert await second.text("second") == "second"
        for name in names("more", share):
            assert await first.text(name) == name


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_call_whose_time_in_line_is_over_is_told_when_to_try_again(
    home: Path, era: str
) -> None:
    async with busy(home, queue_timeout=1.5) as (doors, _):
        order = modern if era == "modern" else call
        message = order("tools/call", gated(doors, "late"))
        head = mirrored(message) if era == "modern" else await doors.initialize()

        refused = await doors.post(message, head)

        assert refused.status == (429 if era == "modern" else 200)
        assert refused.headers["retry-after"] == "2"
        fault = refused.json()["error"]
        assert fault["data"] == {"retryAfter": 2}
        text = f"'s' has {CALLS_ALLOWED} calls under way, and had no place for this one within 1.5"
        assert text in fault["message"] and "try again in 2 s" in fault["message"]
        assert "late" not in reached(home)
        # What is under way goes on.
        await under_way(doors, CALLS_ALLOWED)


async def test_the_time_of_a_call_goes_on_while_it_waits(home: Path) -> None:
    servers = {"s": {**entry(stub_command(*flags(home, "legacy"))), "timeout": 1000}}
    async with open_doors(home, servers, queue_timeout=600.0) as doors:
        await doors.settled()
        async with Line(doors) as first:
            first.ask(*names("first", CALLS_ALLOWED + 1))
            assert "within 1 s" in await first.text(f"first {CALLS_ALLOWED}")


async def test_without_time_for_a_line_a_call_is_refused_at_once(home: Path) -> None:
    async with yard(home, queue_timeout=0.0) as doors, Line(doors) as first:
        # What the hub itself asks of the server at that moment counts, too.
        asked = names("first", CALLS_ALLOWED + 5)
        first.ask(*asked)
        text = f"'s' has {CALLS_ALLOWED} calls under way, as many as it may have; try again in 1 s"
        assert text in await first.text(asked[-1])


async def test_a_call_that_is_taken_back_while_it_waits_never_reaches_the_server(
    home: Path,
) -> None:
    async with busy(home, queue_timeout=600.0) as (doors, first):
        first.ask("kept", "unwanted", "kept too")
        await under_way(doors, CALLS_ALLOWED + 3)
        notice = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
        first.send({**notice, "params": {"requestId": "unwanted"}})
        await under_way(doors, CALLS_ALLOWED + 2)
        open_gate(home)
        assert await first.text("kept too") == "kept too"
        assert [name for name in reached(home) if "first" not in name] == ["kept", "kept too"]
        messages = [event["message"] for event in recorded(home / "s.jsonl", "message")]
        assert not [m for m in messages if m.get("method") == "notifications/cancelled"]
        (row,) = (await doors.get("/api/v1/history?outcome=cancelled"))["calls"]
        assert row["tool"] == "gate"


@pytest.mark.parametrize("way", ["line", "legacy", "modern"])
async def test_a_client_that_leaves_gives_up_its_places(home: Path, way: str) -> None:
    async with busy(home, queue_timeout=600.0) as (doors, first):
        message = (modern if way == "modern" else call)("tools/call", gated(doors, "left 0"))
        head = mirrored(message) if way == "modern" else await doors.initialize()
        async with Line(doors) as leaving, doors.connected() as raw:
            if way == "line":
                leaving.ask("left 0", "left 1")
            else:
                await raw.send(doors.request("POST", "/mcp", json.dumps(message).encode(), head))
            await under_way(doors, CALLS_ALLOWED + (2 if way == "line" else 1))
            if way == "legacy":
                # Hanging up alone is no farewell in that era.
                await doors.ask("DELETE", "/mcp", headers=head)
        await under_way(doors, CALLS_ALLOWED)
        first.ask("stays")
        open_gate(home)
        assert await first.text("stays") == "stays"
        assert not [name for name in reached(home) if name.startswith("left")]


async def test_whoever_waits_hears_that_the_server_is_gone(home: Path) -> None:
    async with busy(home, queue_timeout=600.0) as (doors, first):
        first.ask("waiting")
        await under_way(doors, CALLS_ALLOWED + 1)
        os.kill((await wait_recorded(home / "s.jsonl", "start"))["pid"], signal.SIGKILL)

        answers = [await first.answer(name) for name in names("first", CALLS_ALLOWED)]

        assert all("error" in answer for answer in answers)
        text = await first.text("waiting")
        assert "'s' was killed" in text and "call again: the server has not seen it" in text
        await under_way(doors, 0)
        # The next process serves the next call.
        open_gate(home)
        first.ask("again")
        assert await first.text("again") == "again"


async def test_whoever_waits_hears_that_the_hub_stops(home: Path) -> None:
    asked = names("first", CALLS)
    async with AsyncExitStack() as stack:
        async with yard(home, queue_timeout=600.0) as doors:
            line = await stack.enter_async_context(Line(doors))
            line.ask(*asked)
            await under_way(doors, CALLS)
        answers = [await line.answer(name) for name in asked]
    assert all("stopping" in answer["error"]["message"] for answer in answers)
    assert len(reached(home)) <= CALLS_ALLOWED


@pytest.mark.parametrize("way", ["line", "modern"])
async def test_a_client_with_thousands_of_calls_keeps_no_other_waiting(
    home: Path, way: str
) -> None:
    async with busy(home, queue_timeout=600.0) as (doors, first):
        first.ask(*names("more", 2000))
        await under_way(doors, CALLS_ALLOWED + 2000)
        async with Line(doors) as second, doors.connected() as raw:
            if way == "line":
                second.ask("second")
            else:
                message = modern("tools/call", gated(doors, "second"))
                body = json.dumps(message).encode()
                await raw.send(doors.request("POST", "/mcp", body, mirrored(message)))
            await under_way(doors, CALLS_ALLOWED + 2001)
            open_gate(home)
            for name in names("more", 2000):
                assert await first.text(name) == name
    # The threads of the server are not in order among each other; the line is.
    order = reached(home)
    assert len(order) == CALLS_ALLOWED + 2001
    assert order.index("second") < 2 * CALLS_ALLOWED
