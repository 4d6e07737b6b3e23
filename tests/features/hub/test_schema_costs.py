"""What the list of tools costs each connected client, in tokens of its model's context."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.control.company import Agent, open_yard, put_profile
from tests.doors.doors import Doors, Json

COSTS = "/api/v1/figures/schemas"


@pytest_asyncio.fixture
async def yard(home: Path) -> AsyncIterator[Doors]:
    async with open_yard(home) as doors:
        yield doors


def shares(cost: Json) -> dict[str, int]:
    return {share["server"]: share["tokens"] for share in cost["servers"]}


async def test_the_whole_yard_is_counted_server_by_server(yard: Doors) -> None:
    costs = await yard.get(COSTS)

    parts = shares(costs["yard"])
    assert costs["clients"] == []
    assert parts.keys() == {"one", "two", ""}
    assert parts["one"] > parts["two"] > 0
    assert parts[""] > 0
    assert costs["yard"]["tokens"] == sum(parts.values())


async def test_clients_with_one_list_are_counted_together_and_the_longest_list_first(
    yard: Doors,
) -> None:
    await put_profile(yard, "small", allow=["two/echo"])
    for path in ("/mcp", "/mcp", "/mcp/p/small"):
        await Agent(yard, path).initialize()

    whole, small = (await yard.get(COSTS))["clients"]

    assert (whole["client"], whole["sessions"], whole["profile"]) == ("agent", 2, "")
    assert (small["client"], small["sessions"], small["profile"]) == ("agent", 1, "small")
    assert shares(whole).keys() == {"one", "two", ""}
    assert shares(small).keys() == {"two", ""}
    assert whole["tokens"] > small["tokens"]
    assert whole["tools"] == small["tools"] + 7


async def test_who_finds_its_tools_by_search_pays_for_the_hubs_own_alone(yard: Doors) -> None:
    await put_profile(yard, "lean", settings={"expose": "search"})
    await Agent(yard, "/mcp/p/lean").initialize()

    (lean,) = (await yard.get(COSTS))["clients"]

    assert shares(lean).keys() == {""}
    assert lean["tools"] > 0
