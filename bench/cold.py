"""Starting: the hub with twenty stdio servers, and a client's stdio entry to a running hub."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time

from load import repeat
from processes import Running, attach_command, door_opens, hub, stdio_upstream, tools_arrive
from table import Row, limit

SERVERS = 20
TOOLS = 50
MOST_RSS = 68.0
"""With room for what a busy machine adds. The goal is 45; see decision 0059."""
MOST_GROWTH = 3.0  # MB over ten thousand calls: noise of the allocator, not a leak
OPENING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}


async def cold_start(rounds: int) -> list[Row]:
    """Twenty stdio servers from nothing: door, first list, all ready, memory."""
    found = [await start_once() for _ in range(rounds)]
    door, first, ready, rss, growth = zip(*found, strict=True)
    opened = Row("cold: door", "ms after start")
    opened.put("hub", door)
    return [
        opened,
        limit("cold: first list", "ms after the door", first, 50, "ms"),
        limit("cold: 20 ready", "s after start", ready, 1.5, "s"),
        limit("memory: 20 links", "RSS MB", rss, MOST_RSS, "MB"),
        limit("memory: growth", "MB in a loop of calls", growth, MOST_GROWTH, "MB"),
    ]


async def start_once() -> tuple[float, float, float, float, float]:
    """One cold start: door ms, first list ms, ready s, RSS MB, growth MB."""
    with hub([], [stdio_upstream(TOOLS)] * SERVERS) as running:
        await door_opens(running)
        opened = time.perf_counter()
        line = await running.target.connect()
        session = await running.target.open(line)
        await running.target.tools(line, session)
        listed = time.perf_counter()
        await tools_arrive(running, SERVERS * (TOOLS + 3))
        ready = time.perf_counter()
        rss, growth = await memory(running)
        line.transport.close()
    door = (opened - running.began) * 1000
    return door, (listed - opened) * 1000, ready - running.began, rss, growth


async def memory(running: Running) -> tuple[float, float]:
    """RSS with all links open and warm, and how much a loop of calls adds to it."""

    async def calls(seconds: float) -> None:
        for server in range(0, SERVERS, 5):
            params = {"name": f"s{server:02}__echo", "arguments": {"text": "hello"}}
            target = running.target
            await repeat(target, "tools/call", params, 8, seconds, running.cpu)

    await calls(0.3)
    warm = running.rss()
    await calls(1)
    return running.rss(), running.rss() - warm


async def attach(rounds: int) -> list[Row]:
    """How much longer than an empty Python the stdio entry takes to its first answer."""
    with hub([], [stdio_upstream()]) as running:
        await door_opens(running)
        await tools_arrive(running, 3)
        extra = []
        for _ in range(rounds * 3):
            empty = await asyncio.to_thread(time_empty)
            extra.append((await asyncio.to_thread(time_attach, running)) - empty)
    return [limit("attach: first answer", "ms more than an empty python", extra, 150, "ms")]


def time_empty() -> float:
    """Milliseconds of `python -c pass`."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return (time.perf_counter() - begin) * 1000


def time_attach(running: Running) -> float:
    """Milliseconds from the start of the stdio entry to its first answer."""
    command = attach_command()
    begin = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=running.environment
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(OPENING).encode() + b"\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    took = (time.perf_counter() - begin) * 1000
    process.stdin.close()
    process.wait(10)
    process.stdout.close()
    if b'"result"' not in answer:
        raise RuntimeError(f"the stdio entry answered {answer[:200]!r}")
    return took
