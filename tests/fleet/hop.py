"""Two real hubs: the CPU of a call to a process of the other hub, beside that of one at its owner.

    python tests/fleet/hop.py [CALLS]

Clients call at the hub that runs the process, and at the other one, in turn, several at a time;
every answer must be that of its own call. Counted is the CPU of the hubs alone, not that of the
server or the clients.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.doors.doors import INITIALIZE, call
from tests.e2e.hub import TOKEN
from tests.fixtures.postgres import running_postgres
from tests.fleet.fleet import SharedHub, running_shared_fleet

LEAST_BLOCKS = 6
LARGEST_BLOCK = 1000
"""Calls one way before it is the other's turn: hubs end connections that are idle for long."""
CLIENTS = 4
TICK = os.sysconf("SC_CLK_TCK")


class Client:
    """A legacy client at one hub, over one connection."""

    def __init__(self, hub: SharedHub, name: str) -> None:
        self.name = name
        self._connection = http.client.HTTPConnection(hub.hub.url.removeprefix("http://"))
        self._session: dict[str, str] = {}
        self._number = 0
        self._ask("initialize", INITIALIZE)

    def call(self, count: int) -> None:
        """Call so many times; every answer must be its own."""
        for _ in range(count):
            self._number += 1
            text = f"{self.name} {self._number}"
            answer = self._ask("tools/call", {"name": "old__echo", "arguments": {"text": text}})
            assert answer["content"][0]["text"] == text, (answer, text)

    def parent(self) -> int:
        """The hub that runs the process."""
        answer = self._ask("tools/call", {"name": "old__where", "arguments": {}})
        return int(json.loads(answer["content"][0]["text"])["parent"])

    def _ask(self, method: str, params: Any) -> Any:
        """Send a request that must succeed; its result."""
        head = {
            "Authorization": f"Bearer {TOKEN}",
            "Content-Type": "application/json",
            "Accept": "application/json",
            **self._session,
        }
        self._connection.request("POST", "/mcp", json.dumps(call(method, params)), head)
        answer = self._connection.getresponse()
        body = json.loads(answer.read())
        assert "result" in body, body
        if method == "initialize":
            self._session = {
                "Mcp-Session-Id": answer.headers["mcp-session-id"],
                "MCP-Protocol-Version": "2025-11-25",
            }
        return body["result"]


def cpu(pid: int) -> float:
    """The seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def measure(clients: list[Client], pids: list[int], count: int) -> list[float]:
    """The CPU of each hub for so many calls."""
    before = [cpu(pid) for pid in pids]
    with ThreadPoolExecutor(len(clients)) as threads:
        list(threads.map(lambda client: client.call(count // len(clients)), clients))
    return [cpu(pid) - was for pid, was in zip(pids, before, strict=True)]


def run(calls: int) -> None:
    """Start it all, measure, and stop it."""
    with running_postgres() as server, running_shared_fleet(server.new_yard(), 2) as hubs:
        parent = Client(hubs[0], "first").parent()
        owner, other = sorted(hubs, key=lambda hub: hub.hub.process.pid != parent)
        ways = {
            "direct": [Client(owner, f"direct {n}") for n in range(CLIENTS)],
            "passed on": [Client(other, f"passed {n}") for n in range(CLIENTS)],
        }
        pids = [owner.hub.process.pid, other.hub.process.pid]
        blocks = max(LEAST_BLOCKS, calls // LARGEST_BLOCK)
        count = calls // blocks
        for clients in ways.values():
            measure(clients, pids, 200)
        totals = {name: [0.0, 0.0] for name in ways}
        for _ in range(blocks):
            for name, clients in ways.items():
                used = measure(clients, pids, count)
                totals[name] = [old + new for old, new in zip(totals[name], used, strict=True)]
        for name, seconds in totals.items():
            here, there = (1e6 * one / (count * blocks) for one in seconds)
            print(f"{name}: {here:.0f} us at the owner, {there:.0f} us at the other hub")
        more = sum(totals["passed on"]) / sum(totals["direct"]) - 1
        print(f"a hop costs {more:.2f} direct calls; {count * blocks} answers each, none crossed")


if __name__ == "__main__":
    run(int(sys.argv[1]) if len(sys.argv) > 1 else 6000)
