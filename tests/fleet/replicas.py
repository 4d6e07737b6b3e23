"""Several real hubs with one token, each with a home of its own, that can be restarted."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.e2e.hub import RunningHub, new_home, running_hub
from tests.fixtures.ports import free_ports

DRAIN_SECONDS = 10.0
"""More than a balancer needs to notice that a replica is not ready, on a busy machine."""
PATIENCE = 60.0


@dataclass
class Replica:
    """One of several hubs; it keeps its ports and its home when it is started again."""

    name: str
    home: Path
    port: int
    probe_port: int
    peer_port: int
    environment: Mapping[str, str]
    host: str = "127.0.0.1"
    within: Sequence[str] = ()
    """Words that stand before its command line."""
    hub: RunningHub | None = None
    _stack: ExitStack = field(default_factory=ExitStack)

    def start(self) -> None:
        """Start it, and wait until it has tried its servers."""
        env = {
            "TOOLYARD_DRAIN_DELAY": str(DRAIN_SECONDS),
            **self.environment,
            "TOOLYARD_REPLICA": self.name,
            "TOOLYARD_PROBE_PORT": str(self.probe_port),
        }
        if env.get("TOOLYARD_KEY"):
            env["TOOLYARD_PEER_PORT"] = str(self.peer_port)
        hub = running_hub(
            None, "--port", str(self.port), home=self.home, env=env, within=self.within
        )
        self.hub = self._stack.enter_context(hub)

    @property
    def running(self) -> RunningHub:
        """The hub, which runs."""
        assert self.hub is not None
        return self.hub

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Stop it, and wait until its process is gone; return its exit code."""
        process: subprocess.Popen[str] = self.running.process
        process.send_signal(number)
        code = process.wait(PATIENCE)
        self._stack.close()
        self.hub = None
        return code

    def close(self) -> None:
        """Stop it, if it runs."""
        if self.hub is not None:
            self.hub.process.kill()
        self._stack.close()


@asynccontextmanager
async def replicas(
    count: int, environment: Mapping[str, str], within: Sequence[Sequence[str]] = ()
) -> AsyncIterator[list[Replica]]:
    """That many hubs, started; all are stopped in the end.

    Of `within` each has its own: words that stand before its command line.
    """
    ports = iter(free_ports(3 * count))
    with ExitStack() as stack:
        made = []
        for number in range(count):
            home = stack.enter_context(new_home())
            places = next(ports), next(ports), next(ports)
            words = within[number] if within else ()
            made.append(Replica(f"r{number + 1}", home, *places, environment, within=words))
            stack.callback(made[-1].close)
        await asyncio.gather(*(asyncio.to_thread(replica.start) for replica in made))
        yield made
