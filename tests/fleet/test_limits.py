"""A limit holds over three hubs that share a database, wherever the calls come in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tests.control.company import Agent, send
from tests.doors.doors import Doors, open_doors
from tests.features.limits.limiting import outcomes, put_limit, ran, recording, rush, uses
from tests.fixtures.ports import free_ports
from tests.fixtures.postgres import SharedYard, postgres, shared_yard

__all__ = ["postgres", "shared_yard"]
pytestmark = pytest.mark.fleet
KEY = ("a-key-of-these-tests-0123456789-abcdef",)
TOOL = "one__echo"
NAMES = ("a", "b", "c")


@asynccontextmanager
async def open_hubs(home: Path, yard: SharedYard) -> AsyncIterator[list[Doors]]:
    """Three hubs in front of one server, which one of them runs; all know each other."""
    async with AsyncExitStack() as stack:
        hubs = []
        for name, port in zip(NAMES, free_ports(len(NAMES)), strict=True):
            (home / name).mkdir()
            shared = {**yard.settings, "key": KEY, "replica": name, "peer_port": port}
            hubs.append(await stack.enter_async_context(open_doors(home / name, **shared)))
        order = {"name": "one", "entry": recording(home)}
        assert (await send(hubs[0], "POST", "/api/v1/servers", order)).status < 300
        for hub in hubs:

            async def is_known(hub: Doors = hub) -> bool:
                replicas = (await hub.get("/api/v1/replicas"))["replicas"]
                return len(replicas) == len(NAMES) and TOOL in await hub.tools()

            await hub.until(is_known)
        yield hubs


async def see_limit(hubs: list[Doors], name: str, calls: int) -> None:
    """Set a limit at one hub, and see that all know it."""
    await put_limit(hubs[0], name, calls=calls, seconds=3600)
    for hub in hubs:

        async def is_seen(hub: Doors = hub) -> bool:
            return name in [row["name"] for row in (await hub.get("/api/v1/limits"))["limits"]]

        await hub.until(is_seen)


async def test_over_three_hubs_a_hundred_of_a_thousand_calls_run(
    home: Path, shared_yard: SharedYard
) -> None:
    async with open_hubs(home, shared_yard) as hubs:
        await see_limit(hubs, "hundred", 100)
        answers = await rush([Agent(hub) for hub in hubs], 1000)
        assert 95 <= ran(home) <= 105, ran(home)
        assert outcomes(answers).get(200) == ran(home)

        async def is_told() -> bool:
            return [use["used"] for use in await uses(hubs[2])] == [ran(home)]

        await hubs[2].until(is_told)


async def test_a_hub_that_gets_all_calls_is_given_the_parts_of_the_others(
    home: Path, shared_yard: SharedYard
) -> None:
    async with open_hubs(home, shared_yard) as hubs:
        await see_limit(hubs, "hundred", 100)
        first, *others = [Agent(hub) for hub in hubs]

        async def has_run_nearly_all() -> bool:
            await rush([first], 10)
            return ran(home) >= 95

        await hubs[0].until(has_run_nearly_all)
        for agent in others:
            await rush([agent], 100)
        assert 95 <= ran(home) <= 105, ran(home)
