"""How the cost of a call and the memory grow with clients, servers, tools and replicas.

    python bench/run.py --plots [FOLDER] [--rounds N] [--seconds S] [--clients 1,10,100,1000]
                        [--servers 1,10,50,200] [--tools 100,1000,10000] [--replicas 1,2,3]

Writes SVG charts and `growth.json` to the folder, and prints a table. Every size is measured at a
hub that was started for it. An empty list leaves a series out. Two minutes:
`--rounds 1 --seconds 0.5 --clients 1,100 --servers 1,50 --tools 100,1000 --replicas 1,2`.
The column "grows" is the power of the size with which a figure grows: 0 is not at all, 1 as fast as
the size, and more is worse than that. Replicas need PostgreSQL (`scripts/postgres.sh install`).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import uvloop
from chart import Chart, Curve, Point
from load import LoadError, Tally, Target, loop_closed, repeat, repeating
from machine import conditions
from processes import (
    Running,
    cpu_of,
    door_opens,
    http_upstreams,
    hub,
    in_turn,
    relay,
    tools_arrive,
)
from table import as_markdown, as_text, number

CALLERS = 16
LISTERS = 4
SHARED_SERVERS = 4
OWN_TOOLS = 3
TOOLS_OF_A_SERVER = 100
"""Of many more, the words of a new server are not all looked at, and the others wait for a yes."""
START_SECONDS = 300.0
LINEAR = 1.1
"""A power above this is worse than linear; up to here it may be noise."""
ECHO = {"text": "hello"}
SEARCHES = {"search, few match": "echo of server s00", "search, all match": "filters records"}

FAILURES = (LoadError, OSError, TimeoutError, RuntimeError, ExceptionGroup)

Figures = dict[str, float]
Measure = Callable[[int, float], Awaitable[Figures]]


class Watched:
    """A hub whose memory is noted whenever its meter is read: while all clients are there."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.rss = 0.0

    def __call__(self) -> float:
        self.rss = self.running.rss()
        return self.running.cpu()


@asynccontextmanager
async def started(servers: int, tools: int) -> AsyncIterator[tuple[Running, Running]]:
    """A hub and a relay in front of the same servers."""
    with (
        http_upstreams(servers, tools) as urls,
        hub(urls, []) as ours,
        relay(urls, []) as bare,
    ):
        await door_opens(ours, START_SECONDS)
        await tools_arrive(ours, servers * (tools + OWN_TOOLS), START_SECONDS)
        yield ours, bare


async def echoes(
    running: Running, callers: int, seconds: float, servers: int = 1, is_modern: bool = False
) -> tuple[Tally, float]:
    """Echoes of clients that share the servers, and the memory in MB while they were there."""
    watched, target = Watched(running), running.target
    lines = [await target.connect() for _ in range(callers)]
    calls = []
    for index, line in enumerate(lines):
        params = {"name": f"s{index % servers:02}__echo", "arguments": ECHO}
        if is_modern:
            fresh = target.stateless("tools/call", params)
        else:
            fresh = target.repeated("tools/call", params, await target.open(line))
        calls.append(repeating(line, fresh))
    tally = await loop_closed(calls, seconds, watched)
    for line in lines:
        line.transport.close()
    return tally, watched.rss


async def with_clients(clients: int, seconds: float) -> Figures:
    """So many clients that call at once; one server alone may have 512 calls under way."""
    async with started(SHARED_SERVERS, 0) as (ours, bare):
        legacy, rss = await echoes(ours, clients, seconds, SHARED_SERVERS)
        limit, _ = await echoes(bare, clients, seconds, SHARED_SERVERS)
        modern, _ = await echoes(ours, clients, seconds, SHARED_SERVERS, is_modern=True)
    calls = {"legacy client": legacy.cpu_us, "modern client": modern.cpu_us}
    return {**calls, "bare relay": limit.cpu_us, "memory": rss}


async def with_servers(servers: int, seconds: float) -> Figures:
    """So many servers, of which one is called."""
    async with started(servers, 0) as (ours, bare):
        tally, rss = await echoes(ours, CALLERS, seconds)
        limit, _ = await echoes(bare, CALLERS, seconds)
    return {"call": tally.cpu_us, "bare relay": limit.cpu_us, "memory": rss}


async def with_tools(tools: int, seconds: float) -> Figures:
    """So many tools, a hundred of each server."""
    servers = math.ceil(tools / TOOLS_OF_A_SERVER)
    async with started(servers, tools // servers - OWN_TOOLS) as (ours, _):
        figures = {"call": (await echoes(ours, CALLERS, seconds))[0].cpu_us}
        for name, words in SEARCHES.items():
            params = {"name": "toolyard_tools", "arguments": {"query": words}}
            tally = await repeat(ours.target, "tools/call", params, LISTERS, seconds, ours.cpu)
            figures[name] = tally.cpu_us
        watched = Watched(ours)
        figures["list, all pages"] = (await whole_lists(ours.target, seconds, watched)).cpu_us
    return {**figures, "memory": watched.rss}


async def whole_lists(target: Target, seconds: float, meter: Watched) -> Tally:
    """A closed loop of lists, each with all its pages."""
    lines = [await target.connect() for _ in range(LISTERS)]
    sessions = [await target.open(line) for line in lines]

    async def whole(number: int) -> None:
        await target.tools(lines[number], sessions[number])

    calls = [lambda number=number: whole(number) for number in range(LISTERS)]
    tally = await loop_closed(calls, seconds, meter)
    for line, session in zip(lines, sessions, strict=True):
        await target.close(line, session)
        line.transport.close()
    return tally


async def with_replicas(count: int, seconds: float) -> Figures:
    """So many replicas with one database, each called by as many clients."""
    sys.path.insert(0, str(Path(__file__).parents[1]))

    import psutil

    from tests.fixtures.postgres import running_postgres
    from tests.fleet.balanced import introduce
    from tests.fleet.fleet import KEY
    from tests.fleet.replicas import replicas

    async with AsyncExitStack() as stack:
        database = stack.enter_context(running_postgres())
        urls = stack.enter_context(http_upstreams(1, 0))
        environment = {**database.new_yard().environment, "TOOLYARD_KEY": KEY}
        hubs = await stack.enter_async_context(replicas(count, environment))
        await asyncio.to_thread(introduce, hubs, {"s00": {"url": urls[0]}})
        processes = [psutil.Process(replica.running.process.pid) for replica in hubs]
        calls = []
        for replica in hubs:
            target = Target(replica.running.mcp, replica.running.token, "s00__")
            params = {"name": "s00__echo", "arguments": ECHO}
            for _ in range(CALLERS):
                line = await target.connect()
                fresh = target.repeated("tools/call", params, await target.open(line))
                calls.append(repeating(line, fresh))
        tally = await loop_closed(calls, seconds, lambda: sum(map(cpu_of, processes)))
        rss = [process.memory_info().rss / 1e6 for process in processes]
    return {"call": tally.cpu_us, "memory of each": sum(rss) / count}


@dataclass
class Series:
    """One way to grow, with what is drawn of it."""

    name: str
    default: str
    measure: Measure
    title: str
    sizes: list[int] = field(default_factory=list)
    rounds: dict[int, list[Figures]] = field(default_factory=dict)

    def points(self, figure: str) -> list[Point]:
        """A figure at all sizes."""
        columns = {
            size: [figures[figure] for figures in rounds]
            for size, rounds in sorted(self.rounds.items())
            if rounds
        }
        return [
            Point(size, median(values), min(values), max(values))
            for size, values in columns.items()
        ]

    def figures(self) -> list[str]:
        """What was measured."""
        return next((list(rounds[0]) for rounds in self.rounds.values() if rounds), [])


def all_series() -> list[Series]:
    """What may grow."""
    return [
        Series("clients", "1,10,100,1000", with_clients, "clients that call at once"),
        Series("servers", "1,10,50,200", with_servers, "servers"),
        Series("tools", "100,1000,10000", with_tools, "tools"),
        Series("replicas", "1,2,3", with_replicas, "replicas"),
    ]


async def measure(series: list[Series], rounds: int, seconds: float, folder: Path) -> bool:
    """All sizes, round by round; every other round begins with the largest. True if all went.

    Charts are written after each series, so that an interruption leaves those that are done.
    """
    went = True
    for one in series:
        one.rounds = {size: [] for size in one.sizes}
        for round_number in range(rounds):
            for size in in_turn(one.sizes, round_number):
                try:
                    figures = await one.measure(size, seconds)
                except FAILURES as error:
                    print(f"{size:,} {one.name} failed: {error!r}", file=sys.stderr, flush=True)
                    went = False
                    continue
                one.rounds[size].append(figures)
                shown = ", ".join(f"{name} {number(value)}" for name, value in figures.items())
                print(f"{size:,} {one.name}: {shown}", file=sys.stderr, flush=True)
        write(folder, series)
    return went


def charts(one: Series) -> dict[str, Chart]:
    """The charts of a series, by the names of their files."""
    memory = [figure for figure in one.figures() if figure.startswith("memory")]
    calls = [figure for figure in one.figures() if figure not in memory]
    return {
        f"{one.name}-cpu": Chart(
            f"CPU by number of {one.title}",
            one.title,
            "CPU of the hub, us each",
            [Curve(figure, one.points(figure)) for figure in calls],
            is_logarithmic=one.name == "tools",
        ),
        f"{one.name}-memory": Chart(
            f"Memory by number of {one.title}",
            one.title,
            "resident, MB",
            [Curve(figure, one.points(figure)) for figure in memory],
        ),
    }


def growth(points: list[Point]) -> float | None:
    """The power of the size with which a figure grows, between the two largest sizes."""
    if len(points) < 2:
        return None
    before, last = points[-2:]
    return math.log(last.value / before.value) / math.log(last.size / before.size)


def table(series: list[Series], markdown: bool) -> str:
    """All figures, with how they grow."""
    lines: list[tuple[str, ...]] = [("with more", "figure", "at each size", "grows")]
    for one in series:
        for figure in one.figures():
            points = one.points(figure)
            unit = "MB" if figure.startswith("memory") else "us"
            values = ", ".join(f"{point.size:,.0f}: {number(point.value)}" for point in points)
            power = growth(points)
            worse = " (worse than linear)" if power is not None and power > LINEAR else ""
            grows = "" if power is None else f"{power:.2f}{worse}"
            lines.append((one.name, f"{figure}, {unit}", values, grows))
    right = [False, False, False, False]
    return as_markdown(lines, right) if markdown else as_text(lines, right)


def main() -> int:
    """Measure, draw and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--plots", nargs="?", const=".cache/bench", metavar="FOLDER")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0, help="length of one closed loop")
    parser.add_argument("--markdown", action="store_true", help="the table for a page of the docs")
    series = all_series()
    for one in series:
        parser.add_argument(f"--{one.name}", default=one.default, help="sizes of this series")
    given = parser.parse_args()
    for one in series:
        one.sizes = [int(size) for size in getattr(given, one.name).split(",") if size]
    before = conditions()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        went = runner.run(measure(series, given.rounds, given.seconds, Path(given.plots)))
    print(f"{before}\n{conditions()}\n\n{table(series, given.markdown)}")
    return 0 if went else 2


def write(folder: Path, series: list[Series]) -> None:
    """Write the charts and all figures."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = [one for one in series if one.figures()]
    for one in drawn:
        for name, chart in charts(one).items():
            (folder / f"{name}.svg").write_text(chart.draw())
    figures = {one.name: one.rounds for one in drawn}
    (folder / "growth.json").write_text(json.dumps(figures, indent=1) + "\n")
