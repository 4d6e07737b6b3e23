"""Two real hubs: the CPU of a request that one passes on, beside that of one it serves itself.

    python tests/fleet/hop.py [REQUESTS]

A task is asked for at the hub that has it, and at the other one, in turn. Counted is the CPU of the
hubs alone, not that of the server or the client.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.doors.doors import INITIALIZE, call
from tests.e2e.hub import TOKEN
from tests.fixtures.postgres import running_postgres
from tests.fleet.fleet import SharedHub, running_shared_fleet

BLOCKS = 6
TICK = os.sysconf("SC_CLK_TCK")


class Client:
    """A legacy client at one hub, over one connection."""

    def __init__(self, hub: SharedHub, session: dict[str, str] | None = None) -> None:
        self.pid = hub.hub.process.pid
        self._connection = http.client.HTTPConnection(hub.hub.url.removeprefix("http://"))
        self.session = session or {}
        if session is None:
            self.ask("initialize", INITIALIZE)

    def ask(self, method: str, params: Any) -> Any:
        """Send a request that must succeed; its result."""
        head = {
            "Authorization": f"Bearer {TOKEN}",
            "Content-Type": "application/json",
            "Accept": "application/json",
            **self.session,
        }
        self._connection.request("POST", "/mcp", json.dumps(call(method, params)), head)
        answer = self._connection.getresponse()
        body = json.loads(answer.read())
        assert "result" in body, body
        if method == "initialize":
            self.session = {
                "Mcp-Session-Id": answer.headers["mcp-session-id"],
                "MCP-Protocol-Version": "2025-11-25",
            }
        return body["result"]


def cpu(pid: int) -> float:
    """The seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def measure(client: Client, pids: list[int], task: dict[str, str], count: int) -> list[float]:
    """The CPU of each hub for so many requests."""
    before = [cpu(pid) for pid in pids]
    for _ in range(count):
        assert client.ask("tasks/get", task)["taskId"] == task["taskId"]
    return [cpu(pid) - was for pid, was in zip(pids, before, strict=True)]


def run(requests: int) -> None:
    """Start it all, measure, and stop it."""
    with running_postgres() as server, running_shared_fleet(server.new_yard(), 2) as hubs:
        here = Client(hubs[0])
        there = Client(hubs[1], here.session)
        params = {"name": "old__echo", "arguments": {"text": "x"}, "task": {"ttl": 600_000}}
        task = {"taskId": here.ask("tools/call", params)["task"]["taskId"]}
        pids, count = [here.pid, there.pid], requests // BLOCKS
        totals = {"direct": [0.0, 0.0], "passed on": [0.0, 0.0]}
        for client in (here, there):
            measure(client, pids, task, count)
        for _ in range(BLOCKS):
            for name, client in (("direct", here), ("passed on", there)):
                used = measure(client, pids, task, count)
                totals[name] = [old + new for old, new in zip(totals[name], used, strict=True)]
        for name, (holder, other) in totals.items():
            holder, other = (1e6 * seconds / (count * BLOCKS) for seconds in (holder, other))
            print(f"{name}: {holder:.0f} us at the holder, {other:.0f} us at the other hub")


if __name__ == "__main__":
    run(int(sys.argv[1]) if len(sys.argv) > 1 else 6000)
