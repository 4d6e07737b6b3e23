"""Hubs whose agents have lists of their own, and clients that come as those agents."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.doors.doors import Doors, Json, open_doors
from tests.e2e.hub import RunningHub
from tests.e2e.talk import Talk, talking, text_of
from tests.fixtures.stub_run import stub_command
from toolyard.core.agentfiles import read_agent, read_config, read_policy
from toolyard.features.agents.store import open_agents
from toolyard.features.sharing.store import SharingStore
from toolyard.records.database import Database
from toolyard.records.directories import socket_path
from toolyard.records.follow import Follower
from toolyard.records.places import RecordPlaces
from toolyard.records.schema import MIGRATIONS
from toolyard.settings import read_settings

AGENT = "codex"


def stub(home: Path, name: str, *flags: str, mode: str = "per_session") -> Json:
    """How an agent lists a stub that records what happens to it."""
    command = stub_command("--name", name, "--record", str(home / f"{name}.jsonl"), *flags)
    return {"command": command[0], "args": command[1:], "mode": mode}


def write_lists(
    home: Path,
    lists: Mapping[str, Any],
    policies: Mapping[str, Any],
    agents: Mapping[str, Any] | None = None,
) -> None:
    """Write down what agents are given, as their owner would have done before the hub started."""
    settings = read_settings({}, {"TOOLYARD_HOME": str(home)})
    settings.state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    database = Database(settings.state_dir / "toolyard.db", MIGRATIONS)
    store = open_agents(RecordPlaces(Follower()), database, SharingStore(None))
    for agent, said in (agents or {}).items():
        store.put_agent(read_agent(agent, {"transports": ["stdio", "http"], **said}))
    for agent, servers in lists.items():
        store.put_config(read_config(agent, {"enabled": True, "servers": dict(servers)}))
    for executor, said in policies.items():
        store.put_policy(executor, read_policy(said))
    database.close()


@dataclass(frozen=True, slots=True)
class AgentDoor(RunningHub):
    """A hub as a client of one agent sees it."""

    agent: str = AGENT

    @property
    def mcp(self) -> str:
        """The address of that agent's door."""
        return f"{self.url}/mcp/a/{self.agent}"


@dataclass(frozen=True, slots=True)
class Company:
    """A hub in this loop, and the agents that use it."""

    doors: Doors

    @asynccontextmanager
    async def client(
        self, era: str = "legacy", door: str = "line", agent: str = AGENT, **more: Any
    ) -> AsyncIterator[Talk]:
        """A client of an agent."""
        url = f"http://127.0.0.1:{self.doors.port}"
        hub = AgentDoor(url, self.doors.home, None, agent)  # type: ignore[arg-type]
        async with talking(hub, era, door, agent=agent, **more) as talk:
            yield talk

    async def rows(self, server: str = "", mode: str = "per_session") -> list[Json]:
        """What runs, as the API says."""
        found: list[Json] = (await self.doors.get("/api/v1/instances"))["instances"]
        return [r for r in found if r["mode"] == mode and server in ("", r["server"])]

    async def gone(self, *pids: int, seconds: float = 60.0) -> None:
        """Wait until none of these processes runs."""

        async def holds() -> bool:
            return not any(is_alive(pid) for pid in pids)

        await self.doors.until(holds, seconds)


@asynccontextmanager
async def company(
    home: Path,
    lists: Mapping[str, Any],
    *,
    servers: Mapping[str, Any] | None = None,
    policies: Mapping[str, Any] | None = None,
    **settings: Any,
) -> AsyncIterator[Company]:
    """A hub with these lists, ready."""
    write_lists(home, lists, policies or {})
    async with open_doors(home, servers, **settings) as doors:
        await doors.settled()
        yield Company(doors)


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that only waits to be buried does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z" and os.path.exists(f"/proc/{pid}")


async def pid_of(talk: Talk, server: str = "own") -> int:
    """The process that serves this client."""
    found: int = json.loads(text_of(await talk.call(f"{server}__where")))["pid"]
    return found


async def count(talk: Talk, server: str = "own") -> int:
    """Count up at the server; what it says."""
    return int(text_of(await talk.call(f"{server}__counter")))


def socket_of(home: Path) -> str:
    """Where the line door of a hub is."""
    return socket_path(str(home / "run"))
