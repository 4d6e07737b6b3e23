"""The cost of a call that passes an interceptor, beside one that passes none."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Final

from identity import measure, order
from processes import Running, door_opens, http_upstreams, hub, in_turn, tools_arrive
from table import Row

PEER: Final = Path(__file__).parent / "interceptor.py"
PATIENCE: Final = 120.0
"""Seconds for a hub to be there, on a busy machine, too."""
KINDS: Final[dict[str, dict[str, object]]] = {
    "masked where another tool is called": {"tools": ["no_such_tool"], "mask": {}},
    "masked": {"mask": {}},
    "argument fixed": {"arguments": {"extra": {"fix": 1}}},
    "validated by a program": {
        "program": [sys.executable, str(PEER)],
        "type": "validation",
        "phase": "request",
        "seconds": 60,
    },
}


async def interceptors(rounds: int, seconds: float) -> list[Row]:
    """A row for each kind: the CPU of the hub for a call with it, and without."""
    with http_upstreams(1, 0) as urls, hub(urls, []) as plain:
        await door_opens(plain, PATIENCE)
        await tools_arrive(plain, 3, PATIENCE)
        return [await _compare(urls, plain, name, rounds, seconds) for name in KINDS]


async def _compare(urls: list[str], plain: Running, name: str, rounds: int, seconds: float) -> Row:
    costs: dict[str, list[float]] = {"with": [], "without": []}
    with hub(urls, []) as used:
        await door_opens(used, PATIENCE)
        await tools_arrive(used, 3, PATIENCE)
        fields = {"tools": ["*"], **KINDS[name]}
        await asyncio.to_thread(order, used.target, "/api/v1/interceptors/bench", fields)
        hubs = [("with", used), ("without", plain)]
        for number in range(rounds):
            for which, running in in_turn(hubs, number):
                costs[which].append(await measure(running, running.target, seconds))
    row = Row(f"echo, {name}", "CPU us/call")
    row.compare(costs["with"], costs["without"])
    return row
