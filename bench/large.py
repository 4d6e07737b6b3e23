"""Memory for large answers: the most that the hub takes in a burst of them, and what it keeps."""

from __future__ import annotations

import asyncio
from statistics import median

from load import repeat
from processes import Running, door_opens, http_upstreams, hub, stdio_upstream, tools_arrive
from table import Row, limit

CALLERS = 16
KIB = 1024
SECONDS = 3.0
PAUSE = 0.01
"""Seconds between two looks at the memory."""
MOST_RSS = 80.0


async def burst_memory(rounds: int) -> list[Row]:
    """Sixteen callers that get 1 MiB each, again and again, from a server of each kind."""
    rows = []
    for kind in ("http", "stdio"):
        measured = [await measure_once(kind) for _ in range(rounds)]
        most, after = (median(column) for column in zip(*measured, strict=True))
        rows += [
            limit(f"memory: 1 MiB {kind}", "most RSS MB, 16 callers", most, MOST_RSS, "MB"),
            limit(f"memory: 1 MiB {kind}", "RSS MB after it", after, MOST_RSS, "MB"),
        ]
    return rows


async def measure_once(kind: str) -> tuple[float, float]:
    """The most memory in one burst, and the memory after it, in MB."""
    if kind == "stdio":
        with hub([], [stdio_upstream()]) as running:
            return await load_large(running)
    with http_upstreams(1, 0) as urls, hub(urls, []) as running:
        return await load_large(running)


async def load_large(running: Running) -> tuple[float, float]:
    """Put one hub under the load."""
    await door_opens(running)
    await tools_arrive(running, 3)
    looked = [running.rss()]

    async def look() -> None:
        while True:
            looked.append(running.rss())
            await asyncio.sleep(PAUSE)

    call = {"name": f"{running.target.prefix}payload", "arguments": {"kib": KIB}}
    async with asyncio.TaskGroup() as group:
        looking = group.create_task(look())
        await repeat(running.target, "tools/call", call, CALLERS, SECONDS, running.cpu)
        looking.cancel()
    return max(looked), running.rss()
