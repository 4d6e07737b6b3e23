"""The cost of searching 100 to 10,000 tools, beside an older checkout in the same rounds."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from statistics import median

from load import LoadError
from table import Row

SCRIPT = str(Path(__file__).with_name("search_cost.py"))
TOOLS = (100, 1_000, 10_000)
MOST_US = 1000.0
SECONDS = 300.0
MEASURED = {
    "mean_us": "CPU us/search",
    "slowest_us": "slowest of 10 queries, CPU us",
    "first_ms": "first search, CPU ms",
    "changed_ms": "after a server changed, CPU ms",
    "turn_ms": "longest turn in the first, CPU ms",
}


async def searches(rounds: int, against: str = "") -> list[Row]:
    """Rows for each number of tools."""
    rows = []
    for tools in TOOLS:
        pythons = [sys.executable, against] if against else [sys.executable]
        results = [
            [await asyncio.to_thread(_measure, python, tools) for python in pythons]
            for _ in range(rounds)
        ]
        rows += [_row(tools, figure, results) for figure in MEASURED]
    return rows


def _measure(python: str, tools: int) -> dict[str, float]:
    command = [python, SCRIPT, str(tools)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode != 0:
        raise LoadError(f"searching {tools} tools failed:\n{done.stderr[-2000:]}")
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def _row(tools: int, figure: str, results: list[list[dict[str, float]]]) -> Row:
    row = Row(f"search {tools:,}", MEASURED[figure])
    ours = [figures[figure] for figures, *_ in results]
    row.put("hub", ours)
    if len(results[0]) > 1:
        row.compare(ours, [before[figure] for _, before in results])
    if figure == "mean_us":
        row.target, row.met = f"at most {MOST_US:g} us", median(ours) <= MOST_US
    return row
