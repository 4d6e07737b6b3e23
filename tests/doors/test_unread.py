"""Clients that do not read: they lose their connection, and the hub its memory to nobody."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from tests.control.company import entry
from tests.doors.doors import Doors, Json, call, mirrored, modern, open_doors
from tests.instances.yard import socket_of
from toolyard.doors.http.unread import STALLED_SECONDS, Unread
from toolyard.wire import jsonrpc

pytestmark = pytest.mark.slow

MIB = 1 << 20


class Client:
    """A client of which is known how much it has not read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.unread = 0
        self.is_cut_off = False

    def cut_off(self) -> None:
        self.is_cut_off = True
        self.unread = 0


class Counted:
    """What clients leave unread, with a clock that is moved by hand."""

    def __init__(self, limit: int) -> None:
        self.now = 0.0
        self.unread = Unread(limit, lambda: self.now)
        self.clients: dict[str, Client] = {}

    def write(self, name: str, size: int) -> None:
        client = self.clients.get(name)
        if client is None:
            client = self.clients[name] = Client(name)
            client.unread = size
            self.unread.fell_behind(client)
        else:
            client.unread += size
            self.unread.grew(client, size)

    @property
    def cut_off(self) -> list[str]:
        return [client.name for client in self.clients.values() if client.is_cut_off]


def test_the_largest_is_cut_off_when_all_together_are_too_much() -> None:
    counted = Counted(10)
    for name, size in (("a", 2), ("b", 5), ("c", 3)):
        counted.write(name, size)
    assert counted.cut_off == []
    counted.write("a", 1)
    assert counted.cut_off == ["b"]
    counted.write("c", 3)
    assert counted.cut_off == ["b"]


def test_who_does_not_read_goes_before_who_reads_a_larger_answer() -> None:
    counted = Counted(10)
    counted.write("idle", 3)
    counted.write("reads", 6)
    counted.now += STALLED_SECONDS
    counted.clients["reads"].unread -= 2
    counted.write("reads", 4)
    assert counted.cut_off == ["idle"]


def test_what_was_read_or_left_with_its_client_does_not_count() -> None:
    counted = Counted(10)
    counted.write("a", 9)
    counted.clients["a"].unread = 1
    counted.write("b", 8)
    counted.unread.caught_up(counted.clients["b"])
    counted.write("c", 9)
    assert counted.cut_off == []


def test_one_that_alone_is_too_much_is_cut_off() -> None:
    counted = Counted(10)
    counted.write("a", 11)
    assert counted.cut_off == ["a"]


class Deaf:
    """A client that reads nothing until it is told to."""

    def __init__(self, reader: asyncio.StreamReader, transport: asyncio.Transport) -> None:
        self.reader = reader
        self.transport = transport

    async def rest(self, most: int) -> int:
        """How much still comes, now that it reads; no more than is asked for."""
        self.transport.resume_reading()
        size = 0
        try:
            async with asyncio.timeout(60):
                while size < most and (data := await self.reader.read(MIB)):
                    size += len(data)
        except ConnectionError:
            pass
        return size


@asynccontextmanager
async def deaf(doors: Doors, door: str, messages: list[Json]) -> AsyncIterator[Deaf]:
    """A client that sends requests, and reads nothing until it is told to."""
    sock = socket.socket(socket.AF_INET if door == "http" else socket.AF_UNIX)
    sock.setblocking(False)
    loop = asyncio.get_running_loop()
    if door == "http":
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        await loop.sock_connect(sock, ("127.0.0.1", doors.port))
        data = b"".join(
            doors.request("POST", "/mcp", json.dumps(each).encode(), mirrored(each))
            for each in messages
        )
    else:
        await loop.sock_connect(sock, socket_of(doors.home))
        data = b"".join(json.dumps(each).encode() + b"\n" for each in messages)
    await loop.sock_sendall(sock, data)
    reader, writer = await asyncio.open_connection(sock=sock)
    transport = cast("asyncio.Transport", writer.transport)
    transport.pause_reading()
    yield Deaf(reader, transport)
    transport.abort()


@pytest.mark.parametrize("door", ["http", "line"])
async def test_many_that_do_not_read_are_cut_off_and_who_reads_is_served(
    home: Path, door: str
) -> None:
    servers = {"s": entry("s", "--only", "echo,payload")}
    async with open_doors(home, servers, unread_limit=12 * MIB) as doors, AsyncExitStack() as stack:
        await doors.settled()
        asked = modern("tools/call", {"name": "s__payload", "arguments": {"kib": 10 << 10}})
        silent = [await stack.enter_async_context(deaf(doors, door, [asked])) for _ in range(5)]

        async def served() -> bool:
            rows: list[Json] = (await doors.get("/api/v1/instances"))["instances"]
            return not any(row["calls"] for row in rows)

        await doors.until(served, 60)
        assert await doors.text("s__echo", text="fine") == "fine"
        assert await doors.text("s__payload", kib=10 << 10)
        got = [await client.rest(10 * MIB) for client in silent]
        assert sum(size < 10 * MIB for size in got) >= 3, got


@pytest.mark.parametrize("door", ["http", "line"])
async def test_a_call_that_there_is_no_memory_for_is_answered_all_the_same(
    home: Path, door: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = jsonrpc.result

    def short_of_memory(id_: bytes, body: bytes) -> bytes:
        if len(body) > MIB:
            raise MemoryError
        return result(id_, body)

    monkeypatch.setattr(jsonrpc, "result", short_of_memory)
    async with open_doors(home, {"s": entry("s", "--only", "payload")}) as doors:
        await doors.settled()
        if door == "line":
            fault = await line_fault(doors, "s__payload", kib=2048)
        else:
            fault = await doors.fault("s__payload", kib=2048)
        assert "no memory" in fault
        assert await doors.text("s__payload", kib=1)


async def line_fault(doors: Doors, tool: str, **arguments: int) -> str:
    """Call a tool that must fail over a line; what the error says."""
    reader, writer = await asyncio.open_unix_connection(socket_of(doors.home))
    asked = call("tools/call", {"name": tool, "arguments": arguments})
    writer.write(json.dumps(asked).encode() + b"\n")
    said: Json = json.loads(await reader.readline())
    writer.close()
    await writer.wait_closed()
    text: str = said["error"]["message"]
    return text
