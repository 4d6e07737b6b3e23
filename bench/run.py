"""What a call costs through the hub, beside the bare relay in the same run.

    python bench/run.py [--rounds N] [--seconds S] [--only echo,list] [--without-hub]
                        [--json | --markdown] [--against PYTHON]
    python bench/run.py --plots [FOLDER]     how the cost grows: see plots.py

CPU is user plus system time of the hub's process per call: the figure that a busy machine
disturbs least. It is read when the process has come to rest, before and after, so that it has in it
what the calls left to be done later, such as the history. The relay is measured in turn with the
hub, the other way round in every other round, and ratios are taken within a round. Figures are
medians, with the lowest and the highest round. A client of the modern era is compared with a legacy
one at the relay, which knows no other. `--against` takes the interpreter of another checkout
(`.venv/bin/python`) and measures the hub of that one, too, in the same rounds. Exit code 1 if a
target is missed, 2 if something could not be measured.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict

import plots
import uvloop
from agents import read_lists, resolve_all
from apart import shared_or_not
from cold import attach, cold_start
from identity import with_and_without
from idle import idle
from interceptors import interceptors
from large import burst_memory
from load import LoadError, Tally, burst, churn, repeat, repeat_stateless
from machine import conditions
from processes import (
    Running,
    door_opens,
    http_upstreams,
    hub,
    in_turn,
    relay,
    stdio_upstream,
    tools_arrive,
)
from search import searches
from table import Row, judge_stdio, rows_of, show
from telemetry import traced_or_not

Work = Callable[[Running, float], Awaitable[Tally]]
CALLERS = 16


def calls(tool: str, arguments: dict[str, object], callers: int) -> Work:
    """A closed loop of calls of one tool."""

    async def work(running: Running, seconds: float) -> Tally:
        params = {"name": running.target.prefix + tool, "arguments": arguments}
        return await repeat(running.target, "tools/call", params, callers, seconds, running.cpu)

    return work


def modern_calls(tool: str, arguments: dict[str, object], callers: int) -> Work:
    """The same by clients of the modern era; of the legacy one at the relay, as its yardstick."""
    legacy = calls(tool, arguments, callers)

    async def work(running: Running, seconds: float) -> Tally:
        if running.is_relay:
            return await legacy(running, seconds)
        params = {"name": running.target.prefix + tool, "arguments": arguments}
        target, meter = running.target, running.cpu
        return await repeat_stateless(target, "tools/call", params, callers, seconds, meter)

    return work


async def lists(running: Running, seconds: float) -> Tally:
    """A closed loop of tools/list."""
    return await repeat(running.target, "tools/list", {}, 4, seconds, running.cpu)


async def sessions(running: Running, seconds: float) -> Tally:
    """Open, list and close."""
    return await churn(running.target, CALLERS, seconds, running.cpu)


async def sleepers(running: Running, seconds: float) -> Tally:
    """500 calls of 100 ms at once."""
    return await burst(running.target, 500, 100, running.cpu)


HELLO: dict[str, object] = {"text": "hello"}
ECHO = calls("echo", HELLO, CALLERS)
LARGE = calls("payload", {"kib": 1024}, 4)

# Which works run in front of which servers: (servers over HTTP, over stdio, tools of each).
SUITES: dict[str, tuple[tuple[int, int, int], dict[str, Work]]] = {
    "http": (
        (1, 0, 0),
        {
            "echo, 1 caller": calls("echo", HELLO, 1),
            "echo": ECHO,
            "echo, 64 callers": calls("echo", HELLO, 64),
            "echo modern, 1 caller": modern_calls("echo", HELLO, 1),
            "echo modern": modern_calls("echo", HELLO, CALLERS),
            "echo modern, 64 callers": modern_calls("echo", HELLO, 64),
            "64 KiB": calls("payload", {"kib": 64}, CALLERS),
            "1 MiB": LARGE,
            "churn": sessions,
            "sleep": sleepers,
        },
    ),
    "stdio": ((0, 1, 0), {"echo stdio": ECHO, "1 MiB stdio": LARGE, "sleep stdio": sleepers}),
    "many": ((20, 0, 50), {"list": lists}),
}


def contestants(
    given: argparse.Namespace, urls: list[str], commands: list[list[str]]
) -> dict[str, AbstractContextManager[Running]]:
    """What is measured, in turn."""
    found: dict[str, AbstractContextManager[Running]] = {"relay": relay(urls, commands)}
    if not given.without_hub:
        found["hub"] = hub(urls, commands)
    if given.against:
        found["before"] = hub(urls, commands, given.against)
    return found


async def run_suite(name: str, given: argparse.Namespace) -> list[Row]:
    """All rounds of one suite, relay and hub in turn."""
    (over_http, over_stdio, tools), works = SUITES[name]
    works = {work: do for work, do in works.items() if wanted(given, work)}
    if not works:
        return []
    results: dict[str, list[dict[str, Tally]]] = {work: [] for work in works}
    with ExitStack() as stack:
        urls = stack.enter_context(http_upstreams(over_http, tools)) if over_http else []
        commands = [stdio_upstream(tools)] * over_stdio
        running = {
            who: stack.enter_context(started)
            for who, started in contestants(given, urls, commands).items()
        }
        for one in running.values():
            await door_opens(one)
            await tools_arrive(one, (over_http + over_stdio) * (tools + 3))
        for number in range(given.rounds):
            order = in_turn(list(running.items()), number)
            for work, do in works.items():
                results[work].append({who: await do(one, given.seconds) for who, one in order})
    return [row for work, rounds in results.items() for row in rows_of(work, rounds)]


def wanted(given: argparse.Namespace, work: str) -> bool:
    """Was this work asked for? "echo" stands for all numbers of callers."""
    return not given.only or work.partition(",")[0] in given.only.split(",")


OF_THE_HUB: dict[str, Callable[[argparse.Namespace], Awaitable[list[Row]]]] = {
    "apart": lambda given: shared_or_not(given.rounds, given.seconds),
    "member": lambda given: with_and_without(given.rounds, given.seconds),
    "interceptor": lambda given: interceptors(given.rounds, given.seconds),
    "otel": lambda given: traced_or_not(given.rounds, given.seconds),
    "cold": lambda given: cold_start(given.rounds),
    "large": lambda given: burst_memory(given.rounds),
    "attach": lambda given: attach(given.rounds),
    "idle": lambda given: idle(given.rounds),
    "search": lambda given: searches(given.rounds, given.against),
    "agent read": lambda given: read_lists(given.rounds),
}


async def run(given: argparse.Namespace) -> list[Row]:
    """Everything that was asked for."""
    rows: list[Row] = []
    for suite in SUITES:
        rows += await run_suite(suite, given)
    judge_stdio(rows)
    for work, measure in OF_THE_HUB.items():
        if not given.without_hub and wanted(given, work):
            rows += await measure(given)
    if wanted(given, "resolve"):
        rows += resolve_all(given.rounds)
    return rows


def main() -> int:
    """Measure and report."""
    if "--plots" in sys.argv:
        return plots.main()
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.5, help="length of one closed loop")
    parser.add_argument(
        "--only", default="", help="works to run: echo,list,apart,member,interceptor,otel ..."
    )
    parser.add_argument("--without-hub", action="store_true", help="measure the relay alone")
    parser.add_argument("--against", default="", help="the python of a checkout to compare with")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--markdown", action="store_true", help="the table for a page of the docs")
    given = parser.parse_args()
    before = conditions()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            rows = runner.run(run(given))
    except (LoadError, OSError) as error:
        notes = "\n".join(getattr(error, "__notes__", []))
        print(f"bench: {error or type(error).__name__}\n{notes}".rstrip(), file=sys.stderr)
        return 2
    if given.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
    else:
        print(f"{before}\n{conditions()}\n")
        print(show(rows, given.markdown))
    return 0 if all(row.met is not False for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
