"""A hub that stops: whoever has asked is answered, and told to ask elsewhere."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from pathlib import Path

import pytest

from tests.doors.doors import Doors, mirrored, modern, open_doors
from tests.e2e.hub import entry
from toolyard.doors.http import connection
from toolyard.doors.http.accepting import AT_ONCE, Acceptor
from toolyard.doors.http.server import bind

GATED = Path(__file__).parents[1] / "e2e" / "gated.py"
LONG = 600.0
"""Seconds that no test waits for."""
CLIENTS = 8


async def stop(doors: Doors) -> None:
    """Tell a hub to stop, and wait until it has begun to."""
    assert (await doors.ask("POST", "/api/v1/stop", headers={"Content-Length": "0"})).status == 200


async def is_closed(doors: Doors) -> bool:
    """Whether nobody listens any more."""
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", doors.port)
    except ConnectionError:
        return True
    writer.close()
    return False


def listing(doors: Doors) -> bytes:
    """A request that goes through the MCP door."""
    message = modern("tools/list")
    return doors.request("POST", "/mcp", json.dumps(message).encode(), mirrored(message))


async def test_a_draining_hub_serves_everybody_and_sends_them_away(home: Path) -> None:
    async with open_doors(home, drain_delay=LONG) as doors, doors.connected() as idle:
        await doors.settled()
        await idle.send(listing(doors))
        assert "connection" not in (await idle.answer()).headers
        await stop(doors)
        await doors.until(lambda: is_draining(doors))
        await idle.send(listing(doors))
        last = await idle.answer()
        assert last.status == 200 and last.headers["connection"] == "close"
        assert await idle.rest() == b""
        newcomer = await doors.ask("GET", "/health/live")
        assert newcomer.status == 200 and newcomer.headers["connection"] == "close"


async def is_draining(doors: Doors) -> bool:
    """Whether a hub that serves says that it is not to be asked any more."""
    return (await doors.ask("GET", "/health/ready")).status == 503


async def test_without_draining_an_idle_connection_ends_and_what_comes_late_is_lost(
    home: Path,
) -> None:
    async with open_doors(home) as doors, doors.connected() as idle:
        await idle.send(listing(doors))
        assert (await idle.answer()).status == 200
        await stop(doors)
        assert await idle.rest() == b""  # a client that does not look, and sends now, has no answer
        await doors.until(lambda: is_closed(doors))


async def test_clients_that_send_without_pause_lose_nothing_when_a_hub_stops_at_once(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "LINGER_SECONDS", 20.0)  # a busy machine must not decide
    async with open_doors(home) as doors:
        running = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            callers = [group.create_task(call_on(doors, running)) for _ in range(CLIENTS)]
            await running.wait()
            await stop(doors)
        assert all(caller.result() > 0 for caller in callers)
        await doors.until(lambda: is_closed(doors))


async def call_on(doors: Doors, running: asyncio.Event) -> int:
    """Send one request after the other until the hub says that it leaves; how many it answered."""
    answered, request = 0, listing(doors)
    async with doors.connected() as raw:
        while True:
            await raw.send(request)
            answer = await raw.answer()  # which fails if the hub hangs up on it
            assert answer.status == 200
            answered += 1
            if answered == 20:
                running.set()
            if answer.headers.get("connection") == "close":
                assert await raw.rest() == b""
                return answered


async def test_a_request_that_has_begun_to_arrive_is_answered(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "STALLED_SECONDS", LONG)
    async with open_doors(home) as doors:
        head, whole = doors.connected(), listing(doors)
        async with head as begun, doors.connected() as halfway:
            await begun.send(whole[:40])
            await halfway.send(whole[:-10])
            await stop(doors)
            await doors.until(lambda: is_closed(doors))
            await begun.send(whole[40:])
            await halfway.send(whole[-10:])
            for raw in (begun, halfway):
                answer = await raw.answer()
                assert answer.status == 200 and answer.headers["connection"] == "close"


async def test_a_request_that_stopped_arriving_is_not_waited_for(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "STALLED_SECONDS", 0.05)
    async with open_doors(home) as doors, doors.connected() as begun:
        await begun.send(listing(doors)[:40])
        await stop(doors)
        assert await begun.rest() == b""


async def test_the_answer_of_a_call_that_was_under_way_says_that_it_is_the_last(
    home: Path,
) -> None:
    server = entry([sys.executable, str(GATED), str(home)])
    async with open_doors(home, {"gated": server}) as doors, doors.connected() as raw:
        await doors.settled()
        message = modern("tools/call", {"name": "gated__wait", "arguments": {}})
        headers = {**mirrored(message), "Accept": "application/json"}
        await raw.send(doors.request("POST", "/mcp", json.dumps(message).encode(), headers))
        await doors.until(lambda: has_arrived(home))
        await stop(doors)
        await doors.until(lambda: is_closed(doors))
        (home / "open").touch()
        answer = await raw.answer()
        assert "result" in answer.json()
        assert answer.headers["connection"] == "close"


async def has_arrived(folder: Path) -> bool:
    """Whether the gated server has been called."""
    waiting = folder / "waiting"
    return waiting.exists() and waiting.read_text() == "1"


class Greeting(asyncio.Protocol):
    """Says one word to whoever is taken."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(b"hello")
        transport.close()


async def test_those_who_had_connected_when_a_listener_closed_are_served() -> None:
    sock = bind("127.0.0.1", 0)
    acceptor = Acceptor(sock, Greeting, lambda: False)
    # Blocking, so that the loop has taken none of them before it closes.
    waiting = [socket.create_connection(sock.getsockname()) for _ in range(2 * AT_ONCE)]
    await acceptor.close()
    for client in waiting:
        with client:
            assert await asyncio.to_thread(client.recv, 16) == b"hello"
