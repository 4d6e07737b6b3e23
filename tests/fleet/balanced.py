"""A fleet: three real hubs behind a real balancer, and one server behind them all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.fixtures.ports import free_port
from tests.fixtures.stub_run import running_http_stub
from tests.fleet.balancer import Balancer, balancer
from tests.fleet.replicas import Replica, replicas

SERVER = "stub"
TOOL = "stub__echo"
REPLICAS = 3


@dataclass(frozen=True, slots=True)
class Fleet:
    """The replicas and the balancer in front of them."""

    replicas: list[Replica]
    balancer: Balancer

    @property
    def port(self) -> int:
        """The port of the balancer."""
        return self.balancer.port


@asynccontextmanager
async def balanced(folder: Path, key: str) -> AsyncIterator[Fleet]:
    """Three replicas in front of one server over HTTP, behind HAProxy without retry."""
    port = free_port()
    environment = {"TOOLYARD_ALLOW_HOST": f"127.0.0.1:{port}", "TOOLYARD_KEY": key}
    with running_http_stub("--name", SERVER) as url:
        servers = {SERVER: {"url": url}}
        async with (
            replicas(REPLICAS, servers, environment) as started,
            balancer(folder, port, started) as front,
        ):
            yield Fleet(started, front)
