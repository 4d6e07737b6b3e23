"""What a call costs the hub when many share a server's process, and when each has its own."""

from __future__ import annotations

import asyncio
import http.client
import json

from load import Target, repeat
from processes import TOKEN, Running, door_opens, hub, in_turn, stdio_upstream, tools_arrive
from table import NOISE, Row

CALLERS = 16
AGENT = "codex"
MODES = {"all": "shared", "each": "per_session"}


async def shared_or_not(rounds: int, seconds: float) -> list[Row]:
    """One row: one process for sixteen sessions, beside sixteen processes."""
    with hub([], [stdio_upstream()]) as running:
        await door_opens(running)
        await tools_arrive(running, 3)
        await asyncio.to_thread(write_list, running.target)
        await agent_sees(running)
        found: dict[str, list[float]] = {name: [] for name in MODES}
        for number in range(rounds):
            for name, costs in in_turn(list(found.items()), number):
                costs.append(await measure(running, name, seconds))
    row = Row("stdio, one process for all", "CPU us/call", target="at most 1 x one per session")
    row.compare(found["all"], found["each"])
    row.met = row.change is not None and row.change <= NOISE
    return [row]


def door(running: Running, name: str) -> Target:
    """The agent's door."""
    at = running.target
    return Target(f"http://{at.host}:{at.port}/mcp/a/{AGENT}", TOKEN, f"{name}__")


async def agent_sees(running: Running) -> None:
    """Wait until the hub knows what the agent's servers offer."""
    target = door(running, "all")
    line = await target.connect()
    session = await target.open(line)
    async with asyncio.timeout(30):
        while True:
            if "all__echo" in await target.tools(line, session):
                break
            await asyncio.sleep(0.01)
    await target.close(line, session)
    line.transport.close()


async def measure(running: Running, name: str, seconds: float) -> float:
    """CPU of the hub for one call, in microseconds, through an agent's door."""
    params = {"name": f"{name}__echo", "arguments": {"text": "hello"}}
    tally = await repeat(door(running, name), "tools/call", params, CALLERS, seconds, running.cpu)
    return tally.cpu_us


def write_list(target: Target) -> None:
    """Give the agent one server twice: shared, and for each session."""
    command = stdio_upstream()
    entry = {"command": command[0], "args": command[1:]}
    servers = {name: {**entry, "mode": mode} for name, mode in MODES.items()}
    body = json.dumps({"enabled": True, "servers": servers})
    head = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection(target.host, target.port, timeout=10)
    try:
        connection.request("POST", f"/api/mcp-config?agent={AGENT}", body, head)
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
    finally:
        connection.close()
