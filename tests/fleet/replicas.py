"""Several real hubs with one token, each with a home of its own, that can be restarted."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.hub import RunningHub, new_home, running_hub
from tests.fixtures.ports import free_ports

DRAIN_SECONDS = 2.0
"""More than the balancer needs to notice that a replica is not ready."""
PATIENCE = 60.0


@dataclass
class Replica:
    """One of several hubs; it keeps its ports and its home when it is started again."""

    name: str
    home: Path
    port: int
    probe_port: int
    environment: Mapping[str, str]
    servers: Mapping[str, Any]
    hub: RunningHub | None = None
    _stack: ExitStack = field(default_factory=ExitStack)

    def start(self) -> None:
        """Start it, and wait until it has tried its servers."""
        env = {
            "TOOLYARD_REPLICA": self.name,
            "TOOLYARD_PROBE_PORT": str(self.probe_port),
            "TOOLYARD_DRAIN_DELAY": str(DRAIN_SECONDS),
            **self.environment,
        }
        hub = running_hub(self.servers, "--port", str(self.port), home=self.home, env=env)
        self.hub = self._stack.enter_context(hub)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Stop it, and wait until its process is gone; return its exit code."""
        assert self.hub is not None
        process: subprocess.Popen[str] = self.hub.process
        process.send_signal(number)
        code = process.wait(PATIENCE)
        self._stack.close()
        self.hub = None
        return code

    def close(self) -> None:
        """Stop it, if it runs."""
        self._stack.close()


@asynccontextmanager
async def replicas(
    count: int,
    servers: Mapping[str, Any],
    environment: Mapping[str, str],
) -> AsyncIterator[list[Replica]]:
    """That many hubs in front of the same servers, started; all are stopped in the end."""
    ports = free_ports(2 * count)
    with ExitStack() as stack:
        made = []
        for number in range(count):
            home = stack.enter_context(new_home())
            name, (port, probe) = f"r{number}", ports[2 * number : 2 * number + 2]
            made.append(Replica(name, home, port, probe, environment, servers))
            stack.callback(made[-1].close)
        await asyncio.gather(*(asyncio.to_thread(replica.start) for replica in made))
        yield made
