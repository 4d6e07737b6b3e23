"""Thousands of inputs that make no sense: the hub refuses each, and serves the next one."""

from __future__ import annotations

import asyncio
import json
import random
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doors.doors import NOBODY, Doors, call, mirrored, modern
from tests.e2e.hub import RunningHub, running_hub

pytestmark = pytest.mark.slow

SEED = 20261115
WORDS = (
    b"\r\n",
    b"\r\n\r\n",
    b"\n",
    b"\0",
    b" ",
    b":",
    b"GET ",
    b"POST ",
    b"/mcp",
    b" HTTP/1.1\r\n",
    b"Content-Length: ",
    b"Transfer-Encoding: chunked\r\n",
    b"99999999999",
    b"-1",
    b"0\r\n\r\n",
    b"\xff\xfe",
    b"Upgrade: x\r\nConnection: upgrade\r\n",
    b"Expect: 100-continue\r\n",
)
VALUES = (
    b"null",
    b"[]",
    b"{}",
    b'""',
    b"1e999",
    b"-0",
    b"NaN",
    b'"\\ud800"',
    b"[" * 70 + b"]" * 70,
    b'{"_meta":7}',
    b'{"name":7}',
    b'{"name":null,"arguments":[]}',
    b'{"cursor":{}}',
    b'{"uri":[]}',
    b'{"ref":{"type":"ref/prompt"}}',
    b'{"level":1}',
    b'{"requestId":[]}',
    b'{"notifications":[1]}',
    b'{"protocolVersion":{},"capabilities":7,"clientInfo":[]}',
)
METHODS = (
    "initialize tools/list tools/call prompts/get prompts/list resources/read resources/list "
    "resources/subscribe resources/unsubscribe completion/complete logging/setLevel ping "
    "tasks/get tasks/list tasks/cancel tasks/result server/discover subscriptions/listen "
    "notifications/cancelled notifications/initialized notifications/progress x"
).split()


def broken_http(doors: Doors, chance: random.Random, count: int) -> Iterator[bytes]:
    """Good requests with pieces cut out, put in, and turned around."""
    message = modern("tools/list")
    good = [
        doors.request(),
        doors.request("POST", "/mcp", json.dumps(message).encode(), mirrored(message)),
        doors.request("POST", "/mcp", b"5\r\nhello\r\n0\r\n\r\n", {"Transfer-Encoding": "chunked"}),
        doors.request("GET", "/open?code=x"),
    ]
    for _ in range(count):
        data = bytearray(chance.choice(good))
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(data) + 1)
            match chance.randrange(4):
                case 0:
                    del data[place : place + chance.randint(1, 20)]
                case 1:
                    data[place:place] = chance.choice(WORDS)
                case 2:
                    data[place : place + 1] = chance.randbytes(1)
                case _:
                    data[place:place] = data[: chance.randint(0, 50)]
        yield bytes(data)


def broken_lines(chance: random.Random, count: int) -> Iterator[bytes]:
    """Messages whose parts are of all wrong kinds, and lines that are none."""
    for number in range(count):
        if chance.random() < 0.1:
            yield chance.randbytes(chance.randint(1, 60)).replace(b"\n", b"")
            continue
        said = {b"jsonrpc": b'"2.0"', b"id": b"%d" % number, b"params": chance.choice(VALUES)}
        said[b"method"] = json.dumps(chance.choice(METHODS)).encode()
        if chance.random() < 0.2:
            said[chance.choice(list(said))] = chance.choice(VALUES)
        if chance.random() < 0.2:
            del said[chance.choice(list(said))]
        if chance.random() < 0.1:
            said[chance.choice((b"result", b"error"))] = chance.choice(VALUES)
        line = b"{" + b",".join(b'"%b":%b' % pair for pair in said.items()) + b"}"
        yield line[: chance.randrange(len(line))] if chance.random() < 0.1 else line


async def hurl(doors: Doors, data: bytes) -> None:
    """Send bytes, half-close, and read whatever comes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", doors.port)
    try:
        writer.write(data)
        await writer.drain()
        writer.write_eof()
        async with asyncio.timeout(60):
            await reader.read()
    except ConnectionError:
        pass
    finally:
        writer.close()
        await asyncio.gather(writer.wait_closed(), return_exceptions=True)


async def test_2000_broken_requests_leave_the_http_door_open(home: Path) -> None:
    with running_hub(NOBODY) as hub:
        doors = Doors(int(hub.url.rsplit(":", 1)[1]), home)
        inputs = broken_http(doors, random.Random(SEED), 2000)

        async def work() -> None:
            for data in inputs:
                await hurl(doors, data)

        async with asyncio.TaskGroup() as group:
            for _ in range(20):
                group.create_task(work())
        assert (await doors.ask()).status == 200
        assert len(await doors.tools()) == 0
        blame(hub)


async def test_2000_broken_lines_leave_the_line_door_open(home: Path) -> None:
    with running_hub(NOBODY) as hub:
        doors = Doors(int(hub.url.rsplit(":", 1)[1]), home)
        for round_ in range(4):
            lines = list(broken_lines(random.Random(SEED + round_), 300))
            await asyncio.to_thread(converse, str(hub.socket), lines)
        for body in list(broken_lines(random.Random(SEED), 400)):
            assert (await doors.post(body or b"{")).status in (200, 400, 404), body
        session = await doors.initialize()
        for body in broken_lines(random.Random(SEED + 1), 400):
            if body:
                answer = await doors.post(body, session)
                assert answer.status in (200, 202, 400, 404), body
        assert (await doors.post(call("tools/list"), await doors.initialize())).status == 200
        blame(hub)


def converse(path: str, lines: list[bytes]) -> None:
    """Send all lines on one connection; it must still answer after the last."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(60)
        sock.connect(path)
        last = json.dumps(call("ping", {}, "the end")).encode()
        sock.sendall(b"".join(line + b"\n" for line in [*lines, last]))
        heard = b""
        while b'"the end"' not in heard:
            data = sock.recv(1 << 20)
            assert data, "the hub hung up"
            heard += data
    for line in heard.splitlines():
        assert json.loads(line)["jsonrpc"] == "2.0"


def blame(hub: RunningHub) -> None:
    """Nothing of this may be a surprise to the hub itself."""
    assert hub.process.poll() is None
    assert "Traceback" not in (hub.home / "hub.err").read_text()
