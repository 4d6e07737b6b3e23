"""The time that questions about a million calls take, with what the database read for it.

    python bench/history.py [--rows N] [--postgres ADDRESS]

Fills a database in a temporary directory as a hub does, sealed and summarised, then asks. Wall time
is that of this machine now; CPU time is that of this process, and the one to compare by.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import secrets
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from toolyard.features.history.call_log import Bounds, CallLog
from toolyard.features.history.model import LoggedCall, Outcome
from toolyard.features.history.search import Search
from toolyard.features.history.store import History
from toolyard.records.calls import CallRows, SqliteCalls
from toolyard.records.database import Database
from toolyard.records.schema import MIGRATIONS
from toolyard.records.seals.logs import SealedLogs

ROWS = 1_000_000
BATCH = 1000
TOOLS = 30
SPREAD_SECONDS = 20 * 86400


def main() -> None:
    """Fill a database, ask, and print the times."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument(
        "--postgres", metavar="ADDRESS", help="measure in a schema of this database"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.postgres:
            _measure_postgres(options.postgres, options.rows)
        else:
            _measure_sqlite(Path(folder), options.rows)


def _measure_sqlite(home: Path, rows: int) -> None:
    database = Database(home / "toolyard.db", MIGRATIONS)
    logs = SealedLogs(home, (), home / "toolyard.lock")
    log = _fill(SqliteCalls(database, logs.calls), rows)
    print(f"{(home / 'toolyard.db').stat().st_size / rows:.0f} B each")
    asyncio.run(_ask(History(log)))
    _check(logs, database)
    database.close()


def _measure_postgres(address: str, rows: int) -> None:
    from toolyard.records.postgres.calls import SharedCalls
    from toolyard.records.postgres.shared import SharedDatabase

    database = SharedDatabase(address, f"bench_{secrets.token_hex(4)}", follows=False)
    log = _fill(SharedCalls(database, "bench"), rows)
    asyncio.run(_ask(History(log)))
    database.close()


def _fill(calls: CallRows, rows: int) -> CallLog:
    log = CallLog(calls, Bounds(rows=2 * rows))
    began, used = time.perf_counter(), time.process_time()
    random.seed(1)
    step = SPREAD_SECONDS / rows
    for begin in range(0, rows, BATCH):
        first = time.monotonic() - SPREAD_SECONDS + begin * step
        log._calls = [_call(begin + place, first + place * step) for place in range(BATCH)]
        log.flush()
        if begin % (10 * BATCH) == 0:
            calls.settle()
    calls.settle()
    wall, cpu = time.perf_counter() - began, time.process_time() - used
    print(f"filled {rows:,} rows: {1e6 * cpu / rows:.1f} us CPU, {wall:.0f} s")
    return log


def _call(number: int, began: float) -> LoggedCall:
    tool = int(random.paretovariate(1.0)) % TOOLS
    outcome = Outcome.ERROR if random.random() < 0.02 else Outcome.OK
    server = "rare" if number == 1234 else f"server {tool % 7}"
    ms = random.lognormvariate(3, 1.2)
    agent = f"agent {number % 3}"
    error = f"cannot read item {number}" if outcome is Outcome.ERROR else ""
    ended = began + ms / 1000
    return LoggedCall(agent, "ci", server, f"tool {tool}", began, ended, 90, 900, outcome, error)


async def _ask(history: History) -> None:
    day = time.time() - 86400
    now = time.time()

    def draw(days: float, buckets: int) -> Awaitable[object]:
        return history.timeline(Search(since=now - days * 86400), "server", buckets, now)

    questions: dict[str, Callable[[], Awaitable[object]]] = {
        "the newest 50": lambda: history.search(Search()),
        "50 of one server": lambda: history.search(Search(server="server 3")),
        "50 that failed": lambda: history.search(Search(outcome="failed")),
        "one call among all": lambda: history.search(Search(server="rare")),
        "none": lambda: history.search(Search(server="no such server")),
        "page in the middle": lambda: history.search(Search(before=500_000)),
        "statistics of all": lambda: history.statistics(Search()),
        "statistics of one server": lambda: history.statistics(Search(server="server 3")),
        "statistics of a day": lambda: history.statistics(Search(since=day)),
        "statistics of one agent": lambda: history.statistics(Search(agent="agent 1")),
        "statistics of a text": lambda: history.statistics(Search(text="item 77")),
        "timeline of an hour": lambda: draw(1 / 24, 60),
        "timeline of a day": lambda: draw(1, 60),
        "timeline of a week": lambda: draw(7, 60),
        "timeline of 20 days": lambda: draw(20, 60),
        "timeline, 240 buckets": lambda: draw(20, 240),
        "50 of a tool": lambda: history.search(Search(tool="tool 29")),
        "50 of a tool that failed": lambda: history.search(
            Search(tool="tool 29", outcome="failed")
        ),
        "50 with a name in them": lambda: history.search(Search(text="tool 17")),
        "an error that is once there": lambda: history.search(Search(text="read item 12345")),
        "a text that is nowhere": lambda: history.search(Search(text="no such text")),
    }
    for name, ask in questions.items():
        await ask()
        times = []
        for _ in range(3):
            began, used = time.perf_counter(), time.process_time()
            await ask()
            times.append((time.process_time() - used, time.perf_counter() - began))
        cpu, wall = min(times)
        print(f"{name:30}{1000 * cpu:9.1f} ms CPU{1000 * wall:9.1f} ms")


def _check(logs: SealedLogs, database: Database) -> None:
    used = time.process_time()
    calls, _ = logs.examine(database.read)
    cpu = time.process_time() - used
    print(f"history check: {calls.rows:,} rows, {len(calls.faults)} faults, {cpu:.1f} s CPU")


if __name__ == "__main__":
    main()
