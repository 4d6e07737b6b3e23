"""Compare what the tests cover of each room with the least they must.

    python scripts/coverage_floors.py REPORT      a report of `coverage json`

A room is a folder or module directly below `toolyard`. Coverage counts lines and branches. Floors
are what was measured, rounded down; raise one when you have earned it, and never lower it to pass.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path, PurePath

FLOORS: dict[str, int] = {}
FLOOR = 80
"""For a room that has none of its own."""


def percentages(report: Path) -> dict[str, float]:
    """Return how much of each room was covered."""
    covered: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for name, file in json.loads(report.read_text())["files"].items():
        parts = PurePath(name).parts
        room = parts[parts.index("toolyard") + 1].removesuffix(".py")
        summary = file["summary"]
        covered[room] += summary["covered_lines"] + summary["covered_branches"]
        total[room] += summary["num_statements"] + summary["num_branches"]
    return {room: 100 * covered[room] / total[room] for room in sorted(total) if total[room]}


def main(report: str) -> int:
    """Print the table, and return 1 if a room is below its floor."""
    below = 0
    for room, percent in percentages(Path(report)).items():
        floor = FLOORS.get(room, FLOOR)
        below += percent < floor
        print(f"{room:12} {percent:5.1f} %  floor {floor:3} %{'  TOO LOW' * (percent < floor)}")
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
