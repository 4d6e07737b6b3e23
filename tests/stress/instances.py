"""Servers shared by many and servers for one session each, at full size, before a real hub.

    python tests/stress/instances.py [attribution] [sharing] [leaving] [memory]

attribution  50 clients with elicitation, progress and cancellation over one server: 2,000 calls
             each at a modern one, 400 at a legacy one, which is called in turn once it has asked
sharing      20 agents with the same 20 servers: 20 processes
leaving      20 agents with 20 servers each, for each session: nothing runs 15 s after the clients,
             whether they left or were killed
memory       200 instances of a tiny server: what each costs the hub
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.e2e.hub import environment, new_home, running_hub, toolyard
from tests.e2e.talk import Talk, talking
from tests.instances.storm import crowd, rage
from tests.instances.yard import is_alive, write_lists

NOTES = Path(__file__).resolve().parents[1] / "instances" / "notes.py"
AGENTS = SERVERS = 20
GONE_SECONDS = 15.0
KB_EACH = 200.0
MANY = {"TOOLYARD_RUNNING_LIMIT": "1000"}
"""More processes than a hub usually lets run."""
FAILED: list[str] = []


def judge(what: str, holds: bool, figure: str) -> None:
    """Say what was measured, and remember what does not hold."""
    load = os.getloadavg()[0]
    print(f"{'ok  ' if holds else 'FAIL'} {what}: {figure} (load {load:.1f})", flush=True)
    if not holds:
        FAILED.append(what)


def notes(number: int, mode: str) -> dict[str, Any]:
    """A tiny server; its number makes it another than its neighbours."""
    command = [sys.executable, "-I", "-S", str(NOTES), "kept", str(number)]
    return {"command": command[0], "args": command[1:], "mode": mode}


def processes() -> set[int]:
    """The tiny servers that run on this machine, and nothing else."""
    found = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if str(NOTES).encode() in words and is_alive(int(name)):
            found.add(int(name))
    return found


async def attribution() -> None:
    """Everything reaches who caused it."""
    for era, calls in (("modern", 2000), ("legacy", 400)):
        with new_home() as home:
            write_lists(home, {"codex": {"crowd": {**crowd(era), "mode": "shared"}}}, {})
            with running_hub({}, home=home) as hub:
                connect = partial(talking, hub, door="line", agent="codex")
                began = time.monotonic()
                storm = await rage(connect, 50, calls, ("legacy", "modern"))
                took = time.monotonic() - began
                tally = await storm.tally(connect)
                rows = json.loads(hub.get("/api/v1/instances")[1])["instances"]
                nobody = sum(row["unattributed"] for row in rows)
        said = f"{storm.calls} calls in {took:.0f} s, {tally['cancelled']} cancelled while running"
        said += f", {storm.refused} questions refused, {nobody} messages to nobody"
        is_right = not storm.crossed and not storm.lost and storm.calls == 50 * calls
        is_counted = storm.refused == nobody and (era == "legacy" or not nobody)
        judge(f"attribution, {era} server", is_right and is_counted, said)


async def sharing() -> None:
    """One process each, however many use it."""
    with new_home() as home:
        own: dict[str, Any] = {f"agent-{number}": {} for number in range(AGENTS)}
        listed = {f"n{number}": notes(number, "shared") for number in range(SERVERS)}
        write_lists(home, dict.fromkeys(own, listed), {}, own)
        with running_hub({}, home=home) as hub:
            async with AsyncExitStack() as stack:
                talks = [
                    await stack.enter_async_context(talking(hub, agent=agent)) for agent in own
                ]
                await asyncio.gather(*(t.call(f"{name}__all") for t in talks for name in listed))
                judge("sharing", len(processes()) == SERVERS, f"{len(processes())} processes")


async def use_all(talk: Talk, servers: Iterable[str]) -> None:
    """Call each server once, one after the other, as agents do."""
    for name in servers:
        await talk.call(f"{name}__all")


async def leaving() -> None:
    """Nothing of a session stays."""
    with new_home() as home:
        own: dict[str, Any] = {f"agent-{number}": {} for number in range(AGENTS)}
        listed = {f"n{number}": notes(number, "per_session") for number in range(SERVERS)}
        write_lists(home, dict.fromkeys(own, listed), {}, own)
        with running_hub({}, home=home, env=MANY) as hub:
            async with AsyncExitStack() as stack:
                talks = [
                    await stack.enter_async_context(talking(hub, agent=agent)) for agent in own
                ]
                await asyncio.gather(*(use_all(talk, listed) for talk in talks))
                before = len(processes())
            took = await asyncio.to_thread(until_none)
            judge("leaving", took <= GONE_SECONDS, f"{before} processes gone after {took:.1f} s")
            clients = [Killable(home, agent) for agent in own]
            await asyncio.gather(*(client.use(list(listed)) for client in clients))
            before = len(processes())
            for client in clients:
                client.kill()
            took = await asyncio.to_thread(until_none)
            judge("killed", took <= GONE_SECONDS, f"{before} processes gone after {took:.1f} s")


def until_none() -> float:
    """How long it takes until no tiny server runs."""
    began, pause = time.monotonic(), threading.Event()
    while processes() and time.monotonic() - began < 3 * GONE_SECONDS:
        pause.wait(0.1)
    return time.monotonic() - began


class Killable:
    """A client in a process of its own, as editors start it."""

    def __init__(self, home: Path, agent: str) -> None:
        command = toolyard("mcp", "--agent", agent)
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, env=environment(home), **pipes)

    async def use(self, servers: list[str]) -> None:
        """Call each server once."""
        await asyncio.to_thread(self._use, servers)

    def _use(self, servers: list[str]) -> None:
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "k"}}
        asked = [("initialize", hello)]
        asked += [("tools/call", {"name": f"{each}__all", "arguments": {}}) for each in servers]
        assert self.process.stdin is not None and self.process.stdout is not None
        for number, (method, params) in enumerate(asked):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
            assert "result" in json.loads(self.process.stdout.readline())

    def kill(self) -> None:
        """End it without a word."""
        self.process.kill()
        self.process.wait()


async def memory() -> None:
    """What an instance costs the hub besides its process."""
    with new_home() as home:
        write_lists(home, {"codex": {"n": notes(0, "per_session")}}, {})
        with running_hub({}, home=home, env=MANY) as hub:
            async with AsyncExitStack() as stack:
                talks = [
                    await stack.enter_async_context(talking(hub, agent="codex")) for _ in range(201)
                ]
                await talks[0].call("n__all")
                for talk in talks:
                    await talk.result("ping")
                before = resident(hub.process.pid)
                for talk in talks[1:]:
                    await talk.call("n__all")
                each = (resident(hub.process.pid) - before) / 200
                judge("memory", each < KB_EACH, f"{each:.0f} kB for each of {len(processes())}")


def resident(pid: int) -> float:
    """Resident memory of a process in kB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("VmRSS")))


PARTS: dict[str, Callable[[], Awaitable[None]]] = {
    "attribution": attribution,
    "sharing": sharing,
    "leaving": leaving,
    "memory": memory,
}


async def main(names: list[str]) -> int:
    """Run the parts that were asked for, or all."""
    for name in names or PARTS:
        await PARTS[name]()
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
