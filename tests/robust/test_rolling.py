"""Two hubs, restarted in turn while clients call them: nobody notices."""

from __future__ import annotations

import asyncio
import json
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.doors.doors import Doors, Raw, mirrored, modern
from tests.e2e.hub import RunningHub, new_home, running_hub
from tests.fixtures.ports import free_ports

CLIENTS = 4
DRAIN_SECONDS = 3.0
LOOK_SECONDS = 0.05
CALL = modern("tools/call", {"name": "toolyard_status", "arguments": {}})


@dataclass
class Node:
    """One of several hubs: its ports, and what the last probe said."""

    home: Path
    port: int
    probe_port: int
    is_ready: bool = False
    doors: Doors = field(init=False)

    def __post_init__(self) -> None:
        self.doors = Doors(self.port, self.home)

    @contextmanager
    def running(self) -> Iterator[RunningHub]:
        """The hub, started; the same ports every time."""
        env = {
            "TOOLYARD_DRAIN_DELAY": str(DRAIN_SECONDS),
            "TOOLYARD_PROBE_PORT": str(self.probe_port),
        }
        with running_hub({}, "--port", str(self.port), home=self.home, env=env) as hub:
            yield hub

    async def watch(self) -> None:
        """Ask again and again whether it is ready."""
        while True:
            self.is_ready = await self._look()
            await asyncio.sleep(LOOK_SECONDS)

    async def _look(self) -> bool:
        try:
            async with Doors(self.probe_port, self.home).connected() as raw:
                await raw.send(b"GET /health/ready HTTP/1.1\r\nHost: pod\r\n\r\n")
                return (await raw.answer()).status == 200
        except (OSError, EOFError):
            return False

    async def until(self, ready: bool) -> None:
        """Wait until the probe says so."""
        async with asyncio.timeout(60):
            while self.is_ready != ready:  # noqa: ASYNC110 - a probe is polled
                await asyncio.sleep(LOOK_SECONDS)


class Caller:
    """Calls the hubs that are ready in turn, on connections that it keeps; repeats nothing."""

    def __init__(self, replicas: list[Node], outcomes: Counter[str]) -> None:
        self._replicas = replicas
        self._outcomes = outcomes
        self._open: dict[int, Raw] = {}
        self._turn = 0

    async def run(self) -> None:
        """Call without pause, until cancelled."""
        try:
            while True:
                await self._call_next()
        finally:
            for raw in self._open.values():
                await raw.close()

    async def _call_next(self) -> None:
        ready = [replica for replica in self._replicas if replica.is_ready]
        assert ready, "no hub is ready"
        self._turn += 1
        replica = ready[self._turn % len(ready)]
        try:
            await self._call(replica)
            self._outcomes["answered"] += 1
        except (OSError, EOFError) as error:
            if (raw := self._open.pop(replica.port, None)) is not None:
                await raw.close()
            self._outcomes[f"{type(error).__name__} at {replica.port}"] += 1

    async def _call(self, replica: Node) -> None:
        raw = self._open.get(replica.port)
        if raw is not None and raw.reader.at_eof():  # nobody used it while its hub left
            await self._open.pop(replica.port).close()
            raw = None
        if raw is None:
            raw = Raw(*await asyncio.open_connection("127.0.0.1", replica.port))
            self._open[replica.port] = raw
        headers = {**mirrored(CALL), "Accept": "application/json"}
        body = json.dumps(CALL).encode()
        await raw.send(replica.doors.request("POST", "/mcp", body, headers))
        answer = await raw.answer()
        assert answer.status == 200 and "result" in answer.json()
        if answer.headers.get("connection") == "close":
            await self._open.pop(replica.port).close()


async def test_two_hubs_restarted_in_turn_lose_no_call() -> None:
    ports, outcomes = free_ports(4), Counter[str]()
    with new_home() as first, new_home() as second, ExitStack() as stack:
        replicas = [Node(first, ports[0], ports[1]), Node(second, ports[2], ports[3])]
        hubs = [await asyncio.to_thread(stack.enter_context, one.running()) for one in replicas]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(replica.watch()) for replica in replicas]
            for replica in replicas:
                await replica.until(ready=True)
            tasks += [group.create_task(Caller(replicas, outcomes).run()) for _ in range(CLIENTS)]
            for replica, hub in zip(replicas, hubs, strict=True):
                hub.process.send_signal(signal.SIGTERM)
                await replica.until(ready=False)
                assert await asyncio.to_thread(hub.process.wait, 60) == 0
                await asyncio.to_thread(stack.enter_context, replica.running())
                await replica.until(ready=True)
            for task in tasks:
                task.cancel()
    assert outcomes.keys() == {"answered"}, outcomes
