"""What a call costs through other hubs, beside the bare relay and ours, in one run.

    python bench/peers.py [--rounds N] [--seconds S] [--only NAME,...] [--add FILE] [--markdown]
    python bench/peers.py --install

Peers are installed from their registries into `.cache/peers`. Round by round, and the other way
round in every other round, each contestant is started in front of the same server, measured and
stopped: 16 callers echo, and fetch 64 KiB and 1 MiB. Then the same in front of 20 servers, whose
1,060 tools are listed by 4 callers. CPU is that of the contestant with all that it starts but
servers, read when it has come to rest. A peer that fails at something gets no figure for it.

`--add` takes a JSON file about a peer that you have built from source; peer_list.py says what may
stand in it:

    {"name": "mine", "command": ["my-hub", "--port", "{port}", "--config", "{servers}"]}
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import psutil
import uvloop
from event_stream import list_over_stream, repeat_over_stream
from load import LoadError, Tally, Target, repeat
from machine import conditions
from peer_list import PEERS, Peer, Place, added
from processes import (
    Running,
    free_port,
    http_upstreams,
    hub,
    in_turn,
    relay,
    stdio_upstream,
    stopped_after,
)
from table import as_markdown, as_text, number

CALLERS = 16
LISTERS = 4
SERVERS = 20
TOOLS = 50
OWN_TOOLS = 3
"""Of each server, beside the generated ones."""
START_SECONDS = 90.0
ASK_SECONDS = 30.0
FAILURES = (LoadError, OSError, TimeoutError, ExceptionGroup, ValueError, psutil.Error)
CALLS = {
    "echo, us": ("echo", {"text": "hello"}),
    "64 KiB, us": ("payload", {"kib": 64}),
    "1 MiB, us": ("payload", {"kib": 1024}),
}
COLUMNS = (*CALLS, "tools/list, us", "calls/s", "most memory, MB")


@dataclass
class Contestant:
    """Who is measured, with what came out, round by round."""

    name: str
    about: str
    peer: Peer | None = None
    figures: dict[str, list[float]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def started(self, urls: list[str]) -> AbstractContextManager[Running]:
        """Start it in front of these servers."""
        if self.peer is None:
            return relay(urls, []) if self.name == "bare relay" else hub(urls, [])
        return running(self.peer, urls)

    @property
    def streams(self) -> bool:
        """Does it speak only the oldest HTTP transport?"""
        return self.peer is not None and self.peer.streams

    def note(self, figure: str, value: float) -> None:
        """Keep the figure of a round."""
        self.figures.setdefault(figure, []).append(value)


@contextmanager
def running(peer: Peer, urls: list[str]) -> Iterator[Running]:
    """A peer in front of these servers, or of one over stdio; stopped in the end, by its id."""
    servers: dict[str, Mapping[str, object]]
    servers = {f"s{index:02}": {"url": url} for index, url in enumerate(urls)}
    if peer.over_stdio:
        command, *arguments = stdio_upstream()
        servers = {"s00": {"command": command, "args": arguments}}
    with tempfile.TemporaryDirectory(prefix="peer-") as name:
        place = Place(Path(name), free_port(), servers)
        log = Path(name, "log")
        with log.open("w") as out:
            environment = {**os.environ, "HOME": name, **peer.environment}
            process = subprocess.Popen(
                peer.command(place),
                cwd=name,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                text=True,
            )
            target = Target(f"http://127.0.0.1:{place.port}{peer.path}")
            with stopped_after(process):
                yield Running(process, target, time.perf_counter())


async def names_of(target: Target, streams: bool) -> list[str]:
    """The names of all tools."""
    if streams:
        return await list_over_stream(target)
    line = await target.connect()
    try:
        session = await target.open(line)
        names = await target.tools(line, session)
        await target.close(line, session)
    finally:
        line.transport.close()
    return names


async def ready(contestant: Contestant, running: Running, tools: int) -> None:
    """Wait until so many tools are listed; learn how their names begin.

    Raises:
        LoadError: They are not there in time.
    """
    latest, trouble = time.monotonic() + START_SECONDS, "it never answered"
    while time.monotonic() < latest:
        try:
            async with asyncio.timeout(ASK_SECONDS):
                names = await names_of(running.target, contestant.streams)
            echoes = [name for name in names if name.endswith("echo") and name.startswith("s00")]
            echoes += [name for name in names if name == "echo"]
            if len(names) >= tools and echoes:
                running.target.prefix = echoes[0].removesuffix("echo")
                return
            trouble = f"{len(names)} of {tools} tools"
        except FAILURES as error:
            trouble = f"{type(error).__name__}: {error}"
        if running.process.poll() is not None:
            raise LoadError(f"it ended with {running.process.returncode}")
        await asyncio.sleep(0.1)
    raise LoadError(trouble)


async def load(
    contestant: Contestant,
    running: Running,
    method: str,
    params: dict[str, object],
    callers: int,
    seconds: float,
) -> Tally:
    """A closed loop, in the way that the contestant understands."""
    repeated = repeat_over_stream if contestant.streams else repeat
    return await repeated(running.target, method, params, callers, seconds, running.cpu)


async def measure_calls(contestant: Contestant, urls: list[str], seconds: float) -> None:
    """Calls in front of one server."""
    with contestant.started(urls) as running:
        await ready(contestant, running, OWN_TOOLS)
        for figure, (tool, arguments) in CALLS.items():
            params = {"name": running.target.prefix + tool, "arguments": arguments}
            tally = await load(contestant, running, "tools/call", params, CALLERS, seconds)
            contestant.note(figure, tally.cpu_us)
            if tool == "echo":
                contestant.note("calls/s", tally.per_second)
        contestant.note("most memory, MB", running.most_rss())


async def measure_list(contestant: Contestant, urls: list[str], seconds: float) -> None:
    """Lists in front of many servers."""
    if contestant.peer is not None and not contestant.peer.merges:
        return
    with contestant.started(urls) as running:
        await ready(contestant, running, SERVERS * (TOOLS + OWN_TOOLS))
        tally = await load(contestant, running, "tools/list", {}, LISTERS, seconds)
        contestant.note("tools/list, us", tally.cpu_us)


async def compare(contestants: list[Contestant], rounds: int, seconds: float) -> None:
    """All rounds; who fails at something goes on with the next."""
    with http_upstreams(1, 0) as one, http_upstreams(SERVERS, TOOLS) as many:
        for round_number in range(rounds):
            for contestant in in_turn(contestants, round_number):
                for measure, urls in ((measure_calls, one), (measure_list, many)):
                    try:
                        await measure(contestant, urls, seconds)
                    except FAILURES as error:
                        trouble = f"{measure.__name__}: {type(error).__name__}: {error}"
                        contestant.failures.append(trouble[:300])
                print(f"round {round_number + 1}: {contestant.name}", file=sys.stderr, flush=True)


def table(contestants: list[Contestant], markdown: bool) -> str:
    """The figures: the median, with the lowest and the highest round."""
    lines = [("hub", "", *COLUMNS)]
    for contestant in contestants:
        cells = [cell(contestant.figures.get(column, [])) for column in COLUMNS]
        lines.append((contestant.name, contestant.about, *cells))
    right = [False, False, *(True for _ in COLUMNS)]
    return as_markdown(lines, right) if markdown else as_text(lines, right)


def cell(values: list[float]) -> str:
    """A figure with its spread."""
    if len(values) < 2:
        return number(values[0]) if values else "-"
    return f"{number(median(values))} ({number(min(values))} to {number(max(values))})"


def chosen(given: argparse.Namespace) -> list[Contestant]:
    """The relay, ours, and the peers that were asked for."""
    contestants = [
        Contestant("bare relay", "the limit; no token, no history"),
        Contestant("Toolyard", "token and history on"),
    ]
    peers = [*PEERS, *(added(path) for path in given.add)]
    contestants += [Contestant(peer.name, peer.about, peer) for peer in peers]
    words = [word for word in given.only.split(",") if word]
    return [one for one in contestants if not words or any(word in one.name for word in words)]


def main() -> int:
    """Install, measure and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.5, help="length of one closed loop")
    parser.add_argument("--only", default="", help="contestants, by a part of their name")
    parser.add_argument("--add", action="append", default=[], metavar="FILE", help="a peer more")
    parser.add_argument("--install", action="store_true", help="install the peers, and no more")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--markdown", action="store_true", help="the table for a page of the docs")
    given = parser.parse_args()
    contestants = chosen(given)
    for contestant in contestants:
        install(contestant)
    if given.install:
        report_failures(contestants)
        return 0
    before = conditions()
    installed = [one for one in contestants if not one.failures]
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(compare(installed, given.rounds, given.seconds))
    if given.json:
        print(json.dumps({one.name: one.figures for one in contestants}, indent=1))
    else:
        print(f"{before}\n{conditions()}\n\n{table(contestants, given.markdown)}")
    return report_failures(contestants)


def install(contestant: Contestant) -> None:
    """Install a peer, if it is one; without it the others are measured all the same."""
    try:
        if contestant.peer is not None:
            contestant.peer.install()
    except (OSError, subprocess.SubprocessError) as error:
        contestant.failures.append(f"not installed: {error}")


def report_failures(contestants: list[Contestant]) -> int:
    """Say who failed at what; 2 if anybody did."""
    for contestant in contestants:
        for failure in contestant.failures:
            print(f"{contestant.name}: {failure}", file=sys.stderr)
    return 2 if any(contestant.failures for contestant in contestants) else 0


if __name__ == "__main__":
    sys.exit(main())
