"""At rest: what a hub in front of two stdio servers costs while nobody asks it anything."""

from __future__ import annotations

import asyncio
from pathlib import Path

from processes import Running, door_opens, hub, stdio_upstream, tools_arrive
from table import Row, limit

SETTLE_SECONDS = 3.0
SECONDS = 10.0
MOST_CPU_MS = 1.0
MOST_WAKE_UPS = 10.0


async def idle(rounds: int) -> list[Row]:
    """CPU and wake-ups of the hub's process per second, its threads and helpers included."""
    with hub([], [stdio_upstream(), stdio_upstream()]) as running:
        await door_opens(running)
        await tools_arrive(running, 6)
        await asyncio.sleep(SETTLE_SECONDS)
        found = [await _measure(running) for _ in range(rounds)]
    cpu, wake_ups = zip(*found, strict=True)
    return [
        limit("idle", "CPU ms/s", cpu, MOST_CPU_MS, "ms"),
        limit("idle", "wake-ups/s", wake_ups, MOST_WAKE_UPS, "per second"),
    ]


async def _measure(running: Running) -> tuple[float, float]:
    cpu, wake_ups = running.cpu(), _wake_ups(running)
    await asyncio.sleep(SECONDS)
    cpu, wake_ups = running.cpu() - cpu, _wake_ups(running) - wake_ups
    return cpu * 1000 / SECONDS, wake_ups / SECONDS


def _wake_ups(running: Running) -> int:
    """How often threads of the hub have gone to sleep of their own accord so far."""
    return sum(_switches(status) for pid in running.pids() for status in _statuses(pid))


def _statuses(pid: int) -> list[Path]:
    return list(Path(f"/proc/{pid}/task").glob("*/status"))


def _switches(status: Path) -> int:
    try:
        text = status.read_text()
    except OSError:
        return 0  # the thread has ended
    return int(text.partition("\nvoluntary_ctxt_switches:")[2].split()[0])
