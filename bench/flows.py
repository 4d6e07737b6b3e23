"""The way of a call through the hub's own code: functions, files, rooms, and how often it switches.

    python bench/flows.py [--json] [--trace FLOW]

A whole hub and its client run in one loop; every call of a function of ours is noted while one
request is under way. Of several requests the shortest way counts: timers of the hub only add to it.
A room is a folder of the package. Exit code 1 if a bar is missed, 2 if something failed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

from apart import agent_sees, door, write_list
from load import LoadError, Target, exchange
from processes import TOKEN, Running, stdio_upstream, tools_arrive

import toolyard
from toolyard import app
from toolyard.core.opened_hub import OpenedHub
from toolyard.settings import read_settings

PACKAGE = str(Path(toolyard.__file__).parent) + "/"
TRIES = 15
BARS = {
    "modern call": {"functions": 60, "files": 15, "room_switches": 22},
    "first call, per session": {"room_switches": 60},
}

Step = tuple[str, str]
"""A function that was called: its file, and its name."""


@dataclass
class Flow:
    """One way through the code, in figures."""

    name: str
    calls: int
    functions: int
    files: int
    rooms: int
    file_switches: int
    room_switches: int
    bars: dict[str, int] = field(default_factory=dict)

    @property
    def missed(self) -> list[str]:
        """The bars that it does not meet."""
        figures = asdict(self)
        return [
            f"{key} {figures[key]} > {most}"
            for key, most in self.bars.items()
            if figures[key] > most
        ]


def room_of(file: str) -> str:
    """The folder of the package that a file is in; a module at the top is a room by itself."""
    return file.partition("/")[0]


def measure(name: str, steps: list[Step]) -> Flow:
    """Count a way."""
    files = [file for file, _ in steps]
    rooms = [room_of(file) for file in files]
    return Flow(
        name,
        len(steps),
        len(set(steps)),
        len(set(files)),
        len(set(rooms)),
        sum(a != b for a, b in pairwise(files)),
        sum(a != b for a, b in pairwise(rooms)),
        BARS.get(name, {}),
    )


@contextmanager
def noted() -> Iterator[list[Step]]:
    """Note every call of a function of the package in this thread."""
    steps: list[Step] = []

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE):
            steps.append((code.co_filename.removeprefix(PACKAGE), code.co_qualname))

    sys.setprofile(note)
    try:
        yield steps
    finally:
        sys.setprofile(None)


async def shortest(once: Callable[[], Awaitable[object]], tries: int = TRIES) -> list[Step]:
    """The shortest way of several tries, after one that warms up."""
    await once()
    ways: list[list[Step]] = []
    for _ in range(tries):
        with noted() as steps:
            await once()
            await asyncio.sleep(0)  # what the answer leaves to be done
        ways.append(steps)
    return min(ways, key=len)


def modern_request(target: Target, tool: str) -> bytes:
    """A call as a client of the modern era sends it."""
    params = {"name": tool, "arguments": {"text": "hello"}}
    return target.modern_request({"id": 1, "method": "tools/call", "params": params})


async def modern_call(target: Target) -> list[Step]:
    """A warm call of the modern era to a server over stdio."""
    line = await target.connect()
    request = modern_request(target, f"{target.prefix}echo")
    steps = await shortest(lambda: exchange(line, request))
    line.transport.close()
    return steps


async def legacy_call(target: Target) -> list[Step]:
    """The same in a session of the legacy era."""
    line = await target.connect()
    session = await target.open(line)
    params = {"name": f"{target.prefix}echo", "arguments": {"text": "hello"}}
    request = target.request({"id": 1, "method": "tools/call", "params": params}, session)
    steps = await shortest(lambda: exchange(line, request))
    await target.close(line, session)
    line.transport.close()
    return steps


async def first_call(target: Target) -> list[Step]:
    """The first call of a session to a server that runs for each session."""
    ways: list[list[Step]] = []
    for _ in range(3):
        line = await target.connect()
        session = await target.open(line)
        params = {"name": f"{target.prefix}echo", "arguments": {"text": "hello"}}
        request = target.request({"id": 1, "method": "tools/call", "params": params}, session)
        with noted() as steps:
            await exchange(line, request)
        ways.append(steps)
        await target.close(line, session)
        line.transport.close()
    return min(ways, key=len)


@asynccontextmanager
async def hub_in_this_loop(home: Path) -> AsyncIterator[Target]:
    """A whole hub in front of one server over stdio."""
    command = stdio_upstream()
    entry = {"command": command[0], "args": command[1:]}
    config = home / "servers.json"
    config.write_text(json.dumps({"mcpServers": {"s00": entry}}))
    settings = read_settings({"config_file": str(config)}, {"TOOLYARD_HOME": str(home)})
    settings = replace(settings, port=0, port_fixed=True, token=TOKEN)
    opened: asyncio.Future[OpenedHub] = asyncio.get_running_loop().create_future()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(app.run(settings, ready=opened.set_result))
        try:
            async with asyncio.timeout(60):
                yield Target(f"{(await opened).url}/mcp", TOKEN, "s00__")
        finally:
            running.cancel()


async def run() -> dict[str, list[Step]]:
    """Every flow."""
    with tempfile.TemporaryDirectory() as folder:
        async with hub_in_this_loop(Path(folder)) as target:
            running = Running(None, target, 0.0)  # type: ignore[arg-type]
            await tools_arrive(running, 3)
            flows = {"modern call": await modern_call(target)}
            flows["legacy call"] = await legacy_call(target)
            await asyncio.to_thread(write_list, target)
            await agent_sees(running)
            flows["first call, per session"] = await first_call(door(running, "each"))
            return flows


def show(flows: list[Flow]) -> str:
    """The figures as a table."""
    titles = ("functions", "files", "rooms", "file_switches", "room_switches")
    lines = [f"{'flow':26}{'calls':>8}" + "".join(f"{t.replace('_', ' '):>15}" for t in titles)]
    for flow in flows:
        figures = asdict(flow)
        lines.append(
            f"{flow.name:26}{flow.calls:>8}" + "".join(f"{figures[t]:>15}" for t in titles)
        )
        lines += [f"{'':26}missed: {missed}" for missed in flow.missed]
    return "\n".join(lines)


def main() -> int:
    """Count and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--trace", default="", help="print the functions of this flow, in order")
    given = parser.parse_args()
    try:
        ways = asyncio.run(run())
    except (LoadError, OSError, TimeoutError) as error:
        print(f"flows: {error or type(error).__name__}", file=sys.stderr)
        return 2
    for file, function in ways.get(given.trace, ()):
        print(f"{file:34}{function}")
    flows = [measure(name, steps) for name, steps in ways.items()]
    print(json.dumps([asdict(flow) for flow in flows], indent=1) if given.json else show(flows))
    return 1 if any(flow.missed for flow in flows) else 0


if __name__ == "__main__":
    sys.exit(main())
