"""A call that is over leaves nothing behind that only the cyclic collector would free."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.control.company import entry
from tests.doors.doors import Doors, Json, call, mirrored, modern, open_doors
from tests.e2e.hub import environment
from tests.fixtures.ports import free_port
from tests.fixtures.stub_run import running_http_stub
from tests.instances.yard import socket_of

pytestmark = pytest.mark.usefixtures("young_heap")

CALLS = 25
Ask = Callable[[Json], Awaitable[Json]]


@contextmanager
def uncollected() -> Iterator[list[Any]]:
    """What only the cyclic collector can free of all that is made inside."""
    gc.collect()
    left: list[Any] = []
    gc.disable()
    try:
        yield left
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left += gc.garbage
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
        gc.collect()


@asynccontextmanager
async def at_http(doors: Doors, *, is_modern: bool) -> AsyncIterator[Ask]:
    """A client that sends one request after the other over one connection."""
    session = {} if is_modern else await doors.initialize()
    async with doors.connected() as raw:

        async def ask(message: Json) -> Json:
            head = mirrored(message) if is_modern else session
            await raw.send(doors.request("POST", "/mcp", json.dumps(message).encode(), head))
            answer = await raw.answer()
            text = answer.body.split(b"data: ")[-1]
            said: Json = json.loads(text)
            return said

        yield ask


@asynccontextmanager
async def at_line(doors: Doors, *, is_modern: bool) -> AsyncIterator[Ask]:
    """The same over a line."""
    reader, writer = await asyncio.open_unix_connection(socket_of(doors.home), limit=1 << 24)

    async def ask(message: Json) -> Json:
        writer.write(json.dumps(message).encode() + b"\n")
        while True:
            said: Json = json.loads(await reader.readline())
            if "method" not in said:
                return said

    if not is_modern:
        await ask(call("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}}))
    yield ask
    writer.close()
    await asyncio.gather(writer.wait_closed(), return_exceptions=True)


@contextmanager
def serving(kind: str) -> Iterator[Json]:
    """A server of this transport and era; gives its entry."""
    transport, era = kind.split(" ")
    flags = ("--only", "payload,progress", "--era", era)
    if transport == "stdio":
        yield entry("s", *flags)
    else:
        with running_http_stub(*flags) as url:
            yield {"url": url}


@pytest.mark.parametrize("kind", ["stdio legacy", "stdio modern", "http legacy", "http modern"])
@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("door", ["http", "line"])
async def test_answers_are_freed_without_the_collector(
    home: Path, door: str, era: str, kind: str
) -> None:
    connect = at_http if door == "http" else at_line
    make = modern if era == "modern" else call
    with serving(kind) as server:
        async with open_doors(home, {"s": server}) as doors:
            await doors.settled()
            async with connect(doors, is_modern=era == "modern") as ask:

                async def work(calls: int) -> None:
                    for _ in range(calls):
                        for tool, arguments in (
                            ("payload", {"kib": 64}),
                            ("progress", {"steps": 2}),
                        ):
                            message = make(
                                "tools/call", {"name": f"s__{tool}", "arguments": arguments}
                            )
                            message["params"].setdefault("_meta", {})["progressToken"] = "mine"
                            assert "result" in await ask(message)

                await leaves_nothing(work)


async def leaves_nothing(work: Callable[[int], Awaitable[None]]) -> None:
    """See that what is done many times leaves nothing many times.

    It is counted twice: what each call leaves is there both times, and what the hub does once
    meanwhile, such as to import a module, is not.
    """
    await work(2)
    kinds = await count_left(work) & await count_left(work)
    assert all(number < CALLS for number in kinds.values()), kinds.most_common(20)


async def count_left(work: Callable[[int], Awaitable[None]]) -> Counter[str]:
    """Count what many calls leave to the collector, by type."""
    with uncollected() as left:
        await work(CALLS)
    return Counter(type(thing).__qualname__ for thing in left)


@pytest.mark.parametrize("door", ["http", "line"])
async def test_calls_that_asked_or_failed_are_freed_without_the_collector(
    home: Path, door: str
) -> None:
    connect = at_http if door == "http" else at_line
    able: Json = {"clientCapabilities": {"elicitation": {"form": {}}}}
    servers = {"s": entry("s", "--only", "ask,payload", "--era", "legacy")}
    async with open_doors(home, servers, server_message_limit=64 << 10) as doors:
        await doors.settled()
        async with connect(doors, is_modern=True) as ask:

            async def work(calls: int) -> None:
                for _ in range(calls):
                    params: Json = {"name": "s__ask", "arguments": {"question": "who?"}}
                    asked = (await ask(modern("tools/call", params, **able)))["result"]
                    (key,) = asked["inputRequests"]
                    params["inputResponses"] = {key: {"action": "accept", "content": {}}}
                    params["requestState"] = asked["requestState"]
                    assert "result" in await ask(modern("tools/call", params, **able))
                    params = {"name": "s__payload", "arguments": {"kib": 100}}
                    assert "error" in await ask(modern("tools/call", params))

            await leaves_nothing(work)


LOADED = """
import gc, os, signal
from toolyard.launching import serve
from toolyard.settings import read_settings

def ready(address):
    print(gc.isenabled(), gc.get_freeze_count() > 10_000, flush=True)
    os.kill(os.getpid(), signal.SIGTERM)

serve(read_settings({}, os.environ), ready)
"""


def test_a_hub_looks_for_garbage_but_not_in_its_own_code(home: Path) -> None:
    env = {**environment(home), "TOOLYARD_PORT": str(free_port())}
    done = subprocess.run(
        [sys.executable, "-c", LOADED], env=env, capture_output=True, text=True, timeout=60
    )

    assert (done.stdout.split(), done.returncode) == (["True", "True"], 0), done.stderr
