"""One, two and three replicas, each with a part of a core: calls per second, and CPU per call.

    python tests/fleet/scaling.py [--quota CORES] [--seconds SECONDS] [--rounds ROUNDS]

The quota is that of a cgroup, so this needs root. All replicas run all the time, and HAProxy sends
to one, two or three of them in turn; the figures are medians over all rounds. What calls and what
is called are in a cgroup of their own, without a quota.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from http_wire import Line  # type: ignore[import-not-found]
from load import Once, Target, exchange, loop_closed  # type: ignore[import-not-found]
from processes import http_upstreams  # type: ignore[import-not-found]

from tests.e2e.hub import TOKEN
from tests.fixtures.postgres import SharedYard, running_postgres
from tests.fleet.balanced import Fleet, balanced_in_front_of
from tests.fleet.hop import cpu

REPLICAS = 3
PERIOD = 20_000
"""Microseconds over which it may use them: short, so that calls do not wait long."""
WEIGHT = 8
"""Of each group, in times of the usual; others on the machine shall not take what is measured."""
CALLERS = 64
"""For each replica: so many that none of them ever waits for a call."""
GROUPS = Path("/sys/fs/cgroup")
ENTER = 'echo $$ > "$1/cgroup.procs"; shift; exec "$@"'


@contextmanager
def group(name: str, quota: float | None = None) -> Iterator[Path]:
    """A control group, with so many cores at most; of version 1, where the machine has that."""
    is_old = (GROUPS / "cpu").is_dir()
    folder = (GROUPS / "cpu" if is_old else GROUPS) / f"toolyard-{os.getpid()}-{name}"
    folder.mkdir()
    try:
        (folder / ("cpu.shares" if is_old else "cpu.weight")).write_text(
            str(WEIGHT * (1024 if is_old else 100))
        )
        if quota is not None and is_old:
            (folder / "cpu.cfs_period_us").write_text(str(PERIOD))
            (folder / "cpu.cfs_quota_us").write_text(str(int(quota * PERIOD)))
        elif quota is not None:
            (folder / "cpu.max").write_text(f"{int(quota * PERIOD)} {PERIOD}")
        yield folder
    finally:
        for pid in (folder / "cgroup.procs").read_text().split():
            (folder.parent / "cgroup.procs").write_text(pid)
        folder.rmdir()


async def open_callers(target: Target) -> list[Once]:
    """Clients with a session each that every replica has taken over; each makes one call."""
    callers = []
    params = {"name": f"{target.prefix}echo", "arguments": {"text": "hello"}}
    for _ in range(CALLERS * REPLICAS):
        line = await target.connect()
        fresh = target.repeated("tools/call", params, await target.open(line))
        callers.append(partial(_call, line, fresh))
        for _ in range(REPLICAS):  # one after the other, so each goes to another replica
            await callers[-1]()
    return callers


async def _call(line: Line, fresh: Callable[[], bytes]) -> None:
    await exchange(line, fresh())


async def measure(
    fleet: Fleet, callers: list[Once], count: int, seconds: float
) -> tuple[float, float]:
    """Calls per second of so many replicas, and microseconds of CPU for each."""
    for number, replica in enumerate(fleet.replicas):
        state, status = ("ready", "UP") if number < count else ("maint", "MAINT")
        fleet.balancer.order(f"set server replicas/{replica.name} state {state}")
        await fleet.balancer.until(replica.name, status)
    pids = [replica.running.process.pid for replica in fleet.replicas[:count]]
    tally = await loop_closed(callers[: CALLERS * count], seconds, lambda: sum(map(cpu, pids)))
    return tally.per_second, tally.cpu_us


async def run(yard: SharedYard, groups: list[Path], seconds: float, rounds: int) -> None:
    """Measure in turn, and print the medians."""
    within = [["sh", "-c", ENTER, "sh", str(folder)] for folder in groups]
    results: dict[int, list[tuple[float, float]]] = {n: [] for n in range(1, REPLICAS + 1)}
    with http_upstreams(1, 0) as (url,), tempfile.TemporaryDirectory() as folder:
        servers = {"bench": {"url": url}}
        async with balanced_in_front_of(servers, Path(folder), yard, within=within) as fleet:
            target = Target(f"http://127.0.0.1:{fleet.port}/mcp", TOKEN, "bench__")
            callers = await open_callers(target)
            for number in range(rounds):
                for count, figures in results.items():
                    figures.append(await measure(fleet, callers, count, seconds))
                    speed, used = figures[-1]
                    print(f"round {number + 1}, {count}: {speed:.0f}/s, {used:.0f} us", flush=True)
    base = statistics.median(speed for speed, _ in results[1])
    for count, figures in results.items():
        speed = statistics.median(speed for speed, _ in figures)
        used = statistics.median(used for _, used in figures)
        print(f"{count} replicas: {speed:.0f} calls/s ({speed / base:.2f} x), {used:.0f} us of CPU")
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def main() -> None:
    """Make the groups, start everything in them, measure, and stop it."""
    parser = argparse.ArgumentParser(description="How much more do more replicas do?")
    parser.add_argument("--quota", type=float, default=0.25, help="cores that a replica may use")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    with ExitStack() as stack:
        groups = [stack.enter_context(group(f"r{n + 1}", chosen.quota)) for n in range(REPLICAS)]
        own = stack.enter_context(group("load"))
        (own / "cgroup.procs").write_text(str(os.getpid()))
        server = stack.enter_context(running_postgres())
        asyncio.run(run(server.new_yard(), groups, chosen.seconds, chosen.rounds))


if __name__ == "__main__":
    main()
