"""The instructions that one call costs the hub, counted by valgrind: the same on a busy machine.

    python bench/instructions.py [--calls N] [--only modern] [--members] [--against PYTHON] [--json]

The hub runs under callgrind, of valgrind; its servers and clients run as they are. The counter is
read before and after N calls, when the hub has come to rest. What it does once a second is left
out.
`--members` counts calls of somebody who comes in by their own name, too: beside the legacy client,
which is the owner's, that is the price of identity.
`--against` takes the interpreter of another checkout (`.venv/bin/python`) and counts its hub, too.
Exit code 1 if a call costs more than there, 2 if something could not be counted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from signal import SIGUSR1
from subprocess import PIPE
from typing import Any

import uvloop
from flows import modern_request
from identity import admit_everybody, as_member, issuing
from load import FIRST_ID, HELLO, LoadError, exchange
from processes import (
    Running,
    attach_command,
    door_opens,
    http_upstreams,
    hub,
    stdio_upstream,
    tools_arrive,
)

CALLERS = 1  # with more of them, one turn of the loop serves now one call, now several
CALLS = 4000  # whole batches of the history's, so that each run writes equally many
START_SECONDS = 600.0
CALLS_SECONDS = 900.0
REST_SECONDS = 4.0  # on a busy machine a hub that has work may stand still for less
AT_REST = 100_000  # instructions in that time of a hub that has nothing to do
ROUNDING = 1.02  # two counts of one commit differ by so much
ARGUMENTS = {"text": "hello"}
SLOW_TIMERS = str(Path(__file__).with_name("slow_timers.py"))
VALGRIND = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--instr-atstart=no")

Call = Callable[[], Awaitable[object]]


class CountError(Exception):
    """Instructions cannot be counted here."""


@dataclass
class Cost:
    """What one call costs, for one kind of client and of server."""

    client: str
    server: str
    instructions: int
    before: int = 0
    """The same in the other checkout."""

    @property
    def ratio(self) -> float:
        """How much more it costs than in the other checkout."""
        return self.instructions / self.before if self.before else 0.0


# The counter.


async def tell_valgrind(pid: int, *words: str) -> bytes:
    """Have valgrind do something with the process that it runs; return what it says."""
    command = ("vgdb", f"--pid={pid}", *words)
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE)
    said, complaint = await process.communicate()
    if process.returncode:
        raise CountError(f"vgdb failed: {complaint.decode(errors='replace').strip()}")
    return said


async def read_counter(pid: int) -> int:
    """Return the instructions that all threads of a process have executed while it was counted."""
    said = await tell_valgrind(pid, "status", "internal")
    return sum(map(int, re.findall(rb"^events-\d+: (\d+)", said, re.MULTILINE)))


async def rest(pid: int) -> int:
    """Wait until the hub has nothing more to do; return its counter."""
    count, before = await read_counter(pid), 0
    while count - before > AT_REST:
        await asyncio.sleep(REST_SECONDS)
        count, before = await read_counter(pid), count
    return count


async def cost_of(pid: int, callers: list[Call], calls: int) -> int:
    """Return the instructions of one call: the mean of many, by several callers at once."""
    await tell_valgrind(pid, "instrumentation", "off")  # much faster
    await make_calls(callers, calls)  # everything is loaded, cached and connected after this
    await tell_valgrind(pid, "instrumentation", "on")
    before = await rest(pid)
    await make_calls(callers, calls)
    return round((await rest(pid) - before) / calls)


async def make_calls(callers: list[Call], calls: int) -> None:
    """Make so many calls; every caller goes on as soon as it is answered."""
    left = iter(range(calls))

    async def go_on(call: Call) -> None:
        for _ in left:
            await call()

    async with asyncio.timeout(CALLS_SECONDS), asyncio.TaskGroup() as group:
        for call in callers:
            group.create_task(go_on(call))


# The clients.


@asynccontextmanager
async def legacy_callers(running: Running, tool: str, _python: str) -> AsyncIterator[list[Call]]:
    """Clients of the legacy era, each with a connection and a session of its own."""
    target, params = running.target, {"name": tool, "arguments": ARGUMENTS}

    async def caller() -> Call:
        line = await target.connect()
        fresh = target.repeated("tools/call", params, await target.open(line))
        return lambda: exchange(line, fresh())

    yield [await caller() for _ in range(CALLERS)]


def member_callers(
    issuer: str,
) -> Callable[[Running, str, str], AbstractAsyncContextManager[list[Call]]]:
    """Clients as `legacy_callers`, of somebody who comes in with a token of an issuer."""

    def callers(
        running: Running, tool: str, python: str
    ) -> AbstractAsyncContextManager[list[Call]]:
        return legacy_callers(
            replace(running, target=as_member(running.target, issuer)), tool, python
        )

    return callers


@asynccontextmanager
async def modern_callers(running: Running, tool: str, _python: str) -> AsyncIterator[list[Call]]:
    """Clients of the modern era, each with a connection of its own."""
    request = modern_request(running.target, tool)

    async def caller() -> Call:
        line = await running.target.connect()
        return lambda: exchange(line, request)

    yield [await caller() for _ in range(CALLERS)]


@asynccontextmanager
async def stdio_callers(running: Running, tool: str, python: str) -> AsyncIterator[list[Call]]:
    """One client of the legacy era on the streams of `toolyard mcp`, with many calls under way."""
    entry = await asyncio.create_subprocess_exec(
        *attach_command(python),
        env=running.environment,
        stdin=PIPE,
        stdout=PIPE,
    )
    assert entry.stdin is not None
    assert entry.stdout is not None
    client = LineClient(entry.stdin, entry.stdout)
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(client.read())
        await client.ask("initialize", HELLO)
        client.send({"method": "notifications/initialized"})
        params = {"name": tool, "arguments": ARGUMENTS}
        yield [lambda: client.ask("tools/call", params)] * CALLERS
        reading.cancel()
        entry.stdin.close()
        await entry.wait()


class LineClient:
    """A client that writes and reads lines."""

    def __init__(self, to_hub: asyncio.StreamWriter, from_hub: asyncio.StreamReader) -> None:
        self._to_hub = to_hub
        self._from_hub = from_hub
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._number = FIRST_ID

    def send(self, message: dict[str, Any]) -> None:
        """Write a message."""
        self._to_hub.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def ask(self, method: str, params: dict[str, Any]) -> None:
        """Send a request and wait for its answer.

        Raises:
            LoadError: The answer is an error.
        """
        self._number += 1
        number = self._number
        heard = self._answers[number] = asyncio.get_running_loop().create_future()
        self.send({"id": number, "method": method, "params": params})
        answer = await heard
        if answer.get("result", {"isError": True}).get("isError"):
            raise LoadError(f"the hub answered {answer}")

    async def read(self) -> None:
        """Take answers until cancelled."""
        while line := await self._from_hub.readline():
            message = json.loads(line)
            if message.get("id") in self._answers and "method" not in message:
                self._answers.pop(message["id"]).set_result(message)


ISSUER = "TOOLYARD_ISSUER"
CLIENTS = {"legacy": legacy_callers, "modern": modern_callers, "stdio": stdio_callers}
SERVERS = {"http": "s00__echo", "stdio": "s01__echo"}


# The report.


def under_valgrind(command: list[str]) -> list[str]:
    """Return how a hub is started so that it can be counted."""
    python, _module, _toolyard, *words = command
    return [*VALGRIND, python, "-P", SLOW_TIMERS, *words]


async def count(python: str, given: argparse.Namespace) -> dict[tuple[str, str], int]:
    """Count the instructions of a call in every case that was asked for."""
    costs = {}
    with (
        http_upstreams(1, 0) as urls,
        issuing() as issuer,
        hub(urls, [stdio_upstream()], python, under_valgrind, {ISSUER: issuer}) as running,
    ):
        await door_opens(running, START_SECONDS)
        await tools_arrive(running, 6, START_SECONDS)
        if given.members:
            await asyncio.to_thread(admit_everybody, running.target)
        running.process.send_signal(SIGUSR1)
        members = {"member": member_callers(issuer)} if given.members else {}
        for client, callers in (CLIENTS | members).items():
            for server, tool in SERVERS.items():
                if given.only in f"{client} client, {server} server":
                    async with callers(running, tool, python) as calls:
                        cost = await cost_of(running.process.pid, calls, given.calls)
                    costs[client, server] = cost
                    print(f"{client} client, {server} server: {cost:,}", file=sys.stderr)
    return costs


async def run(given: argparse.Namespace) -> list[Cost]:
    """Count here, and in the other checkout if there is one."""
    costs = await count(sys.executable, given)
    before = await count(given.against, given) if given.against else {}
    return [Cost(*case, cost, before.get(case, 0)) for case, cost in costs.items()]


def show(costs: list[Cost]) -> str:
    """The figures as a table."""
    lines = [f"{'client':10}{'server':10}{'instructions':>14}{'before':>12}{'ratio':>8}"]
    for cost in costs:
        compared = f"{cost.before:>12,}{cost.ratio:>8.3f}" if cost.before else ""
        lines.append(f"{cost.client:10}{cost.server:10}{cost.instructions:>14,}{compared}")
    return "\n".join(lines)


def main() -> int:
    """Count and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--only", default="", help="cases to count, by a part of their name")
    parser.add_argument("--members", action="store_true", help="members' calls, too")
    parser.add_argument("--against", default="", help="the python of a checkout to compare with")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if not (shutil.which("valgrind") and shutil.which("vgdb")):
        print("instructions: valgrind is not installed (apt install valgrind)", file=sys.stderr)
        return 2
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            costs = runner.run(run(given))
    except (CountError, LoadError, OSError, ExceptionGroup) as error:
        notes = "\n".join(getattr(error, "__notes__", []))
        print(f"instructions: {error!r}\n{notes}".rstrip(), file=sys.stderr)
        return 2
    print(json.dumps([asdict(cost) for cost in costs], indent=1) if given.json else show(costs))
    return 1 if any(cost.ratio > ROUNDING for cost in costs) else 0


if __name__ == "__main__":
    sys.exit(main())
