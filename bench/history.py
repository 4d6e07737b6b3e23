"""The time that questions about a million calls take, with what the database read for it.

    python bench/history.py [--rows N] [--bodies] [--postgres] [--keep FOLDER]

Fills a database in a temporary directory as a hub does, sealed and grouped, then asks. Wall time is
that of this machine now; CPU time is that of this process, and with PostgreSQL that of the server's
processes, too: the figures to compare by. With --keep, a database that is filled is asked again.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from toolyard.features.history.call_log import Bounds, CallLog
from toolyard.features.history.model import Bodies, LoggedCall, Outcome
from toolyard.features.history.search import Search
from toolyard.features.history.store import History
from toolyard.records.calls import SqliteCalls
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
    parser.add_argument("--bodies", action="store_true", help="keep arguments and results")
    parser.add_argument("--postgres", action="store_true", help="start a PostgreSQL and use that")
    parser.add_argument("--keep", metavar="FOLDER", type=Path, help="keep the database there")
    options = parser.parse_args()
    bounds = Bounds(rows=2 * options.rows, bodies=options.bodies)
    measure = _measure_postgres if options.postgres else _measure_sqlite
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)  # PostgreSQL runs as another user
        measure(options.keep or Path(folder) / "data", options.rows, bounds)


def _measure_sqlite(home: Path, rows: int, bounds: Bounds) -> None:
    is_filled = (home / "toolyard.db").exists()
    home.mkdir(parents=True, exist_ok=True)
    database = Database(home / "toolyard.db", MIGRATIONS)
    logs = SealedLogs(home, (), home / "toolyard.lock")
    log = CallLog(SqliteCalls(database, logs.calls), bounds)
    if not is_filled:
        _fill(log, rows)
        print(f"{(home / 'toolyard.db').stat().st_size / rows:.0f} B each")
    asyncio.run(_ask(History(log), lambda: 0.0))
    _check(logs, database)
    database.close()


def _measure_postgres(folder: Path, rows: int, bounds: Bounds) -> None:
    from toolyard.records.postgres.calls import SharedCalls
    from toolyard.records.postgres.shared import SharedDatabase

    is_filled = (folder / "data").exists()
    address = _postgres("start", folder).strip()
    try:
        database = SharedDatabase(address, "bench", follows=False)
        log = CallLog(SharedCalls(database, "bench"), bounds)
        if not is_filled:
            _fill(log, rows)
            _vacuum(address)
        server = int((folder / "data" / "postmaster.pid").read_text().split()[0])
        asyncio.run(_ask(History(log), lambda: _family_cpu(server)))
        database.close()
    finally:
        _postgres("stop", folder)


def _postgres(order: str, folder: Path) -> str:
    script = Path(__file__).parent.parent / "scripts" / "postgres.sh"
    return subprocess.run(
        [script, order, folder], check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def _vacuum(address: str) -> None:
    """Do what the server does by itself some minutes after so many rows were added."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE bench.call_log, bench.call_groups")


def _family_cpu(process: int) -> float:
    """The seconds of CPU that the children of a process have used, dead or alive."""
    tick = os.sysconf("SC_CLK_TCK")
    stat = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    running = sum(
        int(Path(f"/proc/{child}/schedstat").read_text().split()[0]) for child in children
    )
    return (int(stat[13]) + int(stat[14])) / tick + running / 1e9


def _fill(log: CallLog, rows: int) -> None:
    calls = log.rows
    assert calls is not None
    began, used = time.perf_counter(), time.process_time()
    random.seed(1)
    step = SPREAD_SECONDS / rows
    for begin in range(0, rows, BATCH):
        first = time.monotonic() - SPREAD_SECONDS + begin * step
        log._calls = [
            _call(begin + place, first + place * step, log.bounds.bodies) for place in range(BATCH)
        ]
        log.flush()
        if begin % (10 * BATCH) == 0:
            calls.settle()
    calls.settle()
    wall, cpu = time.perf_counter() - began, time.process_time() - used
    print(f"filled {rows:,} rows: {1e6 * cpu / rows:.1f} us CPU, {wall:.0f} s")


def _call(number: int, began: float, has_bodies: bool) -> LoggedCall:
    tool = int(random.paretovariate(1.0)) % TOOLS
    outcome = Outcome.ERROR if random.random() < 0.02 else Outcome.OK
    server = "rare" if number == 1234 else f"server {tool % 7}"
    ms = random.lognormvariate(3, 1.2)
    agent = f"agent {number % 3}"
    error = f"cannot read item {number}" if outcome is Outcome.ERROR else ""
    ended = began + ms / 1000
    bodies = _bodies(number) if has_bodies else None
    names = agent, "ci", server, f"tool {tool}"
    return LoggedCall(*names, began, ended, 90, 900, outcome, error, bodies)


def _bodies(number: int) -> Bodies:
    """Return 90 bytes of arguments and 900 of a result, in which a number stands."""
    arguments = (
        f'{{"path":"/srv/data/customers/{number:012}/invoices","limit":100,"sort":"newest"}}'
    )
    text = f"line {number} of a text that a tool has found somewhere. " * 16
    return arguments.encode(), f'{{"content":[{{"type":"text","text":"{text}"}}]}}'.encode()


async def _ask(history: History, server_cpu: Callable[[], float]) -> None:
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
        "timeline, 160 buckets": lambda: draw(20, 160),
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
            began, used, served = time.perf_counter(), time.process_time(), server_cpu()
            await ask()
            ended = time.perf_counter() - began
            times.append((time.process_time() - used, server_cpu() - served, ended))
        ours, theirs = min(cpu for cpu, _, _ in times), min(cpu for _, cpu, _ in times)
        wall = min(wall for _, _, wall in times)
        print(
            f"{name:30}{1000 * ours:9.1f} ms CPU{1000 * theirs:9.1f} of the server"
            f"{1000 * wall:9.1f} ms"
        )


def _check(logs: SealedLogs, database: Database) -> None:
    used = time.process_time()
    calls, _ = logs.examine(database.read)
    cpu = time.process_time() - used
    print(f"history check: {calls.rows:,} rows, {len(calls.faults)} faults, {cpu:.1f} s CPU")


if __name__ == "__main__":
    main()
