"""Compare what the tests cover of each room with the least they must.

    python scripts/coverage_floors.py REPORT             a report of `coverage json`
    python scripts/coverage_floors.py REPORT --floors    print the floors that it allows

A room is a folder or module directly below `toolyard`. Coverage counts lines and branches. Floors
are what the room's own quick tests reach, rounded down, so all tests together reach more: raise
them to what `--floors` prints after `make coverage`, and never lower one to pass. A room without a
floor is shown.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path, PurePath

FLOORS = {
    "board": 100,
    "core": 76,
    "links": 66,
    "operation": 94,
    "records": 60,
    "settings": 97,
    "wire": 94,
}


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


def allowed(measured: dict[str, float]) -> dict[str, int]:
    """Return a floor for each room: what was reached, rounded down, and none below its last."""
    return {room: max(int(percent), FLOORS.get(room, 0)) for room, percent in measured.items()}


def main(report: str, option: str = "") -> int:
    """Print the table, and return 1 if a room is below its floor."""
    measured = percentages(Path(report))
    if option == "--floors":
        print("FLOORS =", json.dumps(allowed(measured), indent=4))
        return 0
    for room, percent in measured.items():
        floor = f"floor {FLOORS[room]} %" if room in FLOORS else "no floor yet"
        print(f"{room:12} {percent:5.1f} %   {floor}")
    below = [room for room, floor in FLOORS.items() if measured.get(room, 0) < floor]
    if below:
        print(f"below their floor: {', '.join(below)}", file=sys.stderr)
    return 1 if below else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
