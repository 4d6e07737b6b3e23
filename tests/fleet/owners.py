"""Owners of an exclusive server are killed or frozen, again and again: never do two run at a time.

    python tests/fleet/owners.py [ROUNDS]

Three real hubs share a database and one exclusive server, which itself sees whether another of it
runs. Each round kills the hub that runs it, or freezes it until another one has taken over; calls
at the other hubs go on meanwhile. Printed is how long no hub could serve.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.e2e.talk import Json, text_of
from tests.fixtures.postgres import SharedYard, running_postgres
from tests.fixtures.stub_run import stub_command
from tests.fleet.fleet import SharedHub, ask, knows, shared_hub, until, wandering

SOLE = Path(__file__).resolve().parents[1] / "fixtures" / "sole.py"
HUBS = 3
PATIENCE = 120.0


def sole_entry(file: Path, *words: str) -> Json:
    """The entry of an exclusive server that takes down whether two of it run."""
    args = [str(SOLE), str(file), *stub_command("--name", "sole", "--era", "legacy", *words)]
    return {"command": sys.executable, "args": args, "exclusive": True}


def starts(file: Path, word: str = "start") -> list[int]:
    """The processes of the server that came so far, or those that met another one."""
    lines = file.read_text().splitlines() if file.exists() else []
    return [int(line.split()[1]) for line in lines if line.startswith(word)]


def parent_of(pid: int) -> int:
    """The parent of a process; 0 if it is gone."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


@dataclass
class Owners:
    """Three hubs, and the file of their exclusive server."""

    yard: SharedYard
    file: Path
    hubs: dict[int, SharedHub] = field(default_factory=dict)
    away: list[float] = field(default_factory=list)
    """The seconds without a server in each round."""
    _stacks: dict[int, ExitStack] = field(default_factory=dict)

    def start(self, number: int) -> None:
        """Start a hub."""
        self._stacks[number] = stack = ExitStack()
        self.hubs[number] = stack.enter_context(shared_hub(self.yard, number, {}))

    def stop(self, number: int) -> None:
        """Stop a hub, if it runs still."""
        del self.hubs[number]
        self._stacks.pop(number).close()

    def __enter__(self) -> Owners:
        for number in range(1, HUBS + 1):
            self.start(number)
        order = {"name": "sole", "entry": sole_entry(self.file)}
        ask(self.hubs[1].hub, "POST", "servers", order)
        for hub in self.hubs.values():
            until(partial(knows, hub.hub, HUBS))
        return self

    def __exit__(self, *_: object) -> None:
        for number in list(self.hubs):
            self.stop(number)

    async def find_owner(self) -> int:
        """The number of the hub that runs the server, which is started first if need be."""
        async with asyncio.timeout(PATIENCE):
            while True:
                await self.call(next(iter(self.hubs)))
                parent = parent_of(starts(self.file)[-1])
                for number, hub in self.hubs.items():
                    if hub.hub.process.pid == parent:
                        return number

    async def call(self, number: int) -> int:
        """Call at a hub until it succeeds; the process that answered."""
        async with asyncio.timeout(PATIENCE), wandering(self.hubs[number].hub) as client:
            while True:
                reply = await client.request("tools/call", {"name": "sole__where", "arguments": {}})
                if "result" in reply and not reply["result"].get("isError"):
                    return int(json.loads(text_of(reply["result"]))["pid"])

    async def round(self, number: int) -> None:
        """Kill the owner or freeze it, and wait until the others are served again."""
        owner = await self.find_owner()
        process = self.hubs[owner].hub.process
        others = [other for other in self.hubs if other != owner]
        began = time.monotonic()
        if number % 2:
            process.kill()
        else:
            os.kill(process.pid, signal.SIGSTOP)
        pids = await asyncio.gather(*(self.call(other) for other in others))
        self.away.append(time.monotonic() - began)
        assert len(set(pids)) == 1, pids
        if number % 2:
            await asyncio.to_thread(self.stop, owner)
            await asyncio.to_thread(self.start, owner)
        else:
            os.kill(process.pid, signal.SIGCONT)
        assert await self.call(owner) == pids[0]
        assert not starts(self.file, "two"), self.file.read_text()


async def run(rounds: int) -> None:
    """Start it all, do so many rounds, and tell."""
    with tempfile.TemporaryDirectory() as folder, running_postgres() as server:
        with Owners(server.new_yard(), Path(folder) / "sole") as owners:
            for number in range(rounds):
                await owners.round(number)
                how = "killed" if number % 2 else "frozen"
                print(f"round {number + 1}, {how}: back after {owners.away[-1]:.1f} s", flush=True)
        met = len(starts(owners.file, "two"))
        print(f"{len(starts(owners.file))} processes; {met} of them met another one")


if __name__ == "__main__":
    asyncio.run(run(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
