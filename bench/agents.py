"""What agents cost: reading a list over the API, and resolving all there are."""

from __future__ import annotations

import asyncio
import http.client
import json
import time

from load import LoadError
from processes import TOKEN, Running, door_opens, hub
from table import Row, limit

from toolyard.core.agentfiles import read_agent, read_config, read_policy
from toolyard.core.agents import KNOWN_AGENTS, Roster
from toolyard.core.model import Command, Entry, Report, Server, ServerId, Snapshot, SourceState
from toolyard.core.roster import Resolver

SERVERS = 100
AGENTS = 1000
READS = 500
MOST_READ_US = 2000.0
MOST_RESOLVE_MS = 5.0
PATH = "/api/mcp-config?agent=codex"


def entries(number: int = SERVERS) -> dict[str, dict[str, object]]:
    """Servers of every kind, in turn."""
    kinds: tuple[dict[str, object], ...] = (
        {"command": "npx", "args": ["-y", "some-server", "."], "env": {"TOKEN": "${TOKEN}"}},
        {"url": "http://localhost:8000/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
        {"command": "uvx", "args": ["other"], "mode": "shared"},
        {"server": "known0"},
    )
    return {f"server{n:03}": dict(kinds[n % len(kinds)]) for n in range(number)}


async def read_lists(rounds: int) -> list[Row]:
    """CPU of the hub for one read of a list with many servers."""
    with hub([], []) as running:
        await door_opens(running)
        found = await asyncio.to_thread(_read, running, rounds)
    return [limit("agent read", f"{SERVERS} servers, CPU us", found, MOST_READ_US, "us")]


def _read(running: Running, rounds: int) -> list[float]:
    target = running.target
    connection = http.client.HTTPConnection(target.host, target.port, timeout=30)
    body = json.dumps({"enabled": False, "servers": entries()})
    _ask(connection, "POST", body)
    costs = []
    for _ in range(rounds):
        before = running.cpu()
        for _ in range(READS):
            _ask(connection, "GET")
        costs.append((running.cpu() - before) / READS * 1e6)
    connection.close()
    return costs


def _ask(connection: http.client.HTTPConnection, method: str, body: str | None = None) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    connection.request(method, PATH, body, headers)
    answer = connection.getresponse()
    said = json.loads(answer.read())
    if answer.status != 200 or len(said["servers"]) != SERVERS:
        raise LoadError(f"{method} {PATH} answered {answer.status}: {str(said)[:200]}")


def resolve_all(rounds: int) -> list[Row]:
    """CPU for resolving one of very many agents, with a policy that has much to say."""
    resolver = Resolver(_snapshot())
    costs = []
    for _ in range(rounds):
        began = time.process_time()
        for agent in resolver.roster.configs:
            made = resolver.resolve(agent, "docker", ("http://127.0.0.1:7420", ""))
            if len(made.plans) + len(made.refusals) != SERVERS:
                raise LoadError(f"{agent} came to {len(made.plans)} plans")
        costs.append((time.process_time() - began) / AGENTS * 1000)
    words = f"{AGENTS} x {SERVERS}, CPU ms/agent"
    return [limit("resolve", words, costs, MOST_RESOLVE_MS, "ms")]


def _snapshot() -> Snapshot:
    names = [f"agent{number:04}" for number in range(AGENTS)]
    transports = {"transports": ["stdio", "streamable_http"]}
    said = {"enabled": True, "servers": entries()}
    policy = {
        "http_url_rewrite": {"localhost": "host.docker.internal"},
        "env_injection": {"HTTP_PROXY": "http://proxy:3128", "TOKEN": "${OTHER}"},
        "deny": ["server00?", "secret*"],
    }
    roster = Roster(
        {**KNOWN_AGENTS, **{name: read_agent(name, transports) for name in names}},
        {name: read_config(name, said) for name in names},
        {},
        {"docker": read_policy(policy)},
    )
    id_ = ServerId("known0", "configured")
    entry = Entry(Server(id_, Command(("known",))), "known0")
    return Snapshot(1, {id_: entry}, {"agents": SourceState(Report("agents", roster=roster))})
