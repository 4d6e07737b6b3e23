"""A fleet: real hubs that share a database, behind a real balancer; servers behind them all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.fixtures.ports import free_port
from tests.fixtures.postgres import SharedYard
from tests.fixtures.stub_run import running_http_stub
from tests.fleet.balancer import Balancer, balancer
from tests.fleet.fleet import KEY, ask, knows, until
from tests.fleet.load import NEW, OLD
from tests.fleet.replicas import Replica, replicas

REPLICAS = 3
NAMES = ("127.0.0.1", "localhost")
"""By which clients call the balancer."""


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
async def balanced(
    folder: Path, yard: SharedYard, key: str = KEY, resources: Sequence[str] = ()
) -> AsyncIterator[Fleet]:
    """Three replicas in front of a server of each era, behind HAProxy without retry.

    Without a key they have no door for each other. Both servers have `resources` of these names.
    """
    with running_servers(resources) as servers:
        async with balanced_in_front_of(servers, folder, yard, key) as fleet:
            yield fleet


@contextmanager
def running_servers(
    resources: Sequence[str] = (), host: str = "127.0.0.1"
) -> Iterator[Mapping[str, Any]]:
    """A server of each era, with resources of these names; gives their entries."""
    place = ("--host", host)
    legacy = ("--name", OLD, "--era", "legacy", "--tasks", *_named(OLD, resources))
    modern = ("--name", NEW, "--era", "modern", *_named(NEW, resources))
    with (
        running_http_stub(*place, *legacy) as old,
        running_http_stub(*place, *modern) as new,
    ):
        yield {OLD: {"url": old}, NEW: {"url": new}}


@asynccontextmanager
async def balanced_in_front_of(
    servers: Mapping[str, Any],
    folder: Path,
    yard: SharedYard,
    key: str = KEY,
    *,
    count: int = REPLICAS,
    within: Sequence[Sequence[str]] = (),
    **settings: str,
) -> AsyncIterator[Fleet]:
    """So many replicas in front of these servers; `settings` are more of their variables."""
    port = free_port()
    environment = {
        **yard.environment,
        "TOOLYARD_ALLOW_HOST": ",".join(f"{name}:{port}" for name in NAMES),
        "TOOLYARD_ALLOW_ORIGIN": ",".join(f"http://{name}:{port}" for name in NAMES),
        "TOOLYARD_KEY": key,
        **settings,
    }
    async with replicas(count, environment, within) as started:
        await asyncio.to_thread(introduce, started, servers)
        async with balancer(folder, port, started) as front:
            yield Fleet(started, front)


def introduce(started: Sequence[Replica], servers: Mapping[str, Any]) -> None:
    """Add the servers at one hub, and wait until all know them, and each other."""
    for name, entry in servers.items():
        ask(started[0].running, "POST", "servers", {"name": name, "entry": entry})
    for replica in started:
        until(partial(knows, replica.running, len(started), len(servers)))


def _named(server: str, resources: Sequence[str]) -> list[str]:
    return [word for name in resources for word in ("--resource", f"note://{server}/{name}")]
