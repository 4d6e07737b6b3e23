"""Many calls and many clients at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.doors.doors import Doors, mirrored, modern
from tests.e2e.hub import RunningHub, new_home, running_hub, stdio_stub
from tests.e2e.talk import talking, text_of

FEW = ("--tools-only", "--only", "echo,sleep,payload,progress")


@pytest.fixture(scope="module")
def hub() -> Any:
    """A hub of its own process in front of three servers."""
    with new_home() as home:
        servers = {name: stdio_stub(name, home, *FEW) for name in ("a", "b", "c")}
        with running_hub(servers, home=home) as running:
            yield running


async def test_500_calls_of_a_second_at_once_are_done_together(hub: RunningHub) -> None:
    async with talking(hub) as client:
        await client.call("a__sleep", {"ms": 1})
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with asyncio.TaskGroup() as group:
            calls = [group.create_task(client.call("a__sleep", {"ms": 1000})) for _ in range(500)]
        took = loop.time() - began
    assert all(text_of(call.result()) == "slept" for call in calls)
    print(f"500 calls of a second: {took:.2f} s")
    assert took < 250.0, "one after the other they take five hundred seconds"


async def test_1000_calls_of_50_clients_that_count_alike_are_never_crossed(
    hub: RunningHub, record_property: Callable[[str, object], None]
) -> None:
    async def work(number: int) -> None:
        reader, writer = await asyncio.open_unix_connection(hub.socket, limit=1 << 20)
        said = [{"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": {}}]
        said += [called(number, count) for count in range(20)]
        writer.write(b"".join(json.dumps(message).encode() + b"\n" for message in said))
        answers: dict[Any, Any] = {}
        async with asyncio.timeout(60):
            while len(answers) < 21:
                message = json.loads(await reader.readline())
                assert message["id"] not in answers
                answers[message["id"]] = message
        for count in range(20):
            assert text_of(answers[count]["result"]) == f"client {number} call {count}"
        writer.close()
        await writer.wait_closed()

    async with asyncio.TaskGroup() as group:
        for number in range(50):
            group.create_task(work(number))
    record_property("figure", "1,000 answers to 50 clients that count alike, 0 crossed")


def called(number: int, count: int) -> dict[str, Any]:
    """One call; every client uses the same ids."""
    server = "ab"[(number + count) % 2]
    arguments = {"text": f"client {number} call {count}"}
    params = {"name": f"{server}__echo", "arguments": arguments}
    return {"jsonrpc": "2.0", "id": count, "method": "tools/call", "params": params}


async def test_a_client_that_stops_reading_is_dropped_and_nobody_else(hub: RunningHub) -> None:
    _, writer = await asyncio.open_unix_connection(hub.socket, limit=1024)
    first = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}
    writer.write(json.dumps(first).encode() + b"\n")
    big = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    big["params"] = {"name": "a__echo", "arguments": {"text": "x" * (3 << 20)}}
    line = json.dumps(big).encode() + b"\n"
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    async with talking(hub) as other:
        with pytest.raises(ConnectionError):
            await push(writer, line)
        assert text_of(await other.call("b__echo", {"text": "fine"})) == "fine"
    writer.close()


async def test_a_client_that_stops_reading_http_is_dropped_and_nobody_else(
    hub: RunningHub,
) -> None:
    doors = Doors(int(hub.url.rsplit(":", 1)[1]), hub.home)
    # A server of its own: what the client before left unread may still be queued for `a`.
    message = modern("tools/call", {"name": "c__payload", "arguments": {"kib": 6 << 10}})
    ahead = doors.request("POST", "/mcp", json.dumps(message).encode(), mirrored(message)) * 8
    async with doors.connected() as raw:
        raw.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await raw.send(ahead)
        with pytest.raises(ConnectionError):
            await push(raw.writer, b"\r\n")
        assert await doors.text("b__echo", text="fine") == "fine"


async def test_an_answer_larger_than_what_may_stay_unread_arrives_whole(hub: RunningHub) -> None:
    async with talking(hub) as line:
        for kib in (9 << 10, 15 << 10):
            said = await line.call("a__payload", {"kib": kib})
            assert len(text_of(said)) == kib << 10


async def push(writer: asyncio.StreamWriter, line: bytes) -> None:
    """Send more than may stay unread, until the other side hangs up."""
    async with asyncio.timeout(60):
        while True:
            writer.write(line)
            await writer.drain()
            await asyncio.sleep(0.01)
