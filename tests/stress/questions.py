"""A thousand windows of one agent before a real hub, at full size.

    python tests/stress/questions.py [WINDOWS CALLS]

All count alike and call themselves alike, a quarter for each era and door, and every fifth of
their calls asks. 300,000 calls: each is answered once, and nothing reaches another window.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.e2e.hub import running_hub
from tests.instances.windows import servers, storm

WINDOWS, CALLS = 1000, 300
SECONDS = 3600.0
"""When to give up; on two cores that have nothing else to do it takes some minutes."""


async def main(windows: int, calls: int) -> int:
    """Rage, and say what it came to."""
    with running_hub(servers()) as hub:
        began = time.monotonic()
        tally = await storm(hub, windows, calls, SECONDS)
        took = time.monotonic() - began
    faults = {name: getattr(tally, name) for name in ("crossed", "failed", "twice")}
    holds = tally.answers == windows * calls and not any(faults.values())
    said = f"{tally.answers} answers and {tally.questions} questions in {took:.0f} s"
    counts = ", ".join(f"{len(found)} {name}" for name, found in faults.items())
    load = os.getloadavg()[0]
    print(f"{'ok  ' if holds else 'FAIL'} {windows} windows: {said}, {counts} (load {load:.1f})")
    for name, found in faults.items():
        for each in found[:5]:
            print(f"     {name}: {each}")
    return 0 if holds else 1


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]] or [WINDOWS, CALLS]
    sys.exit(asyncio.run(main(*given)))
