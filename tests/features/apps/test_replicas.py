"""Apps of hubs that share a database: defined for all, found by each on its own machine."""

from __future__ import annotations

from pathlib import Path

from tests.doors.doors import Doors
from tests.fixtures.hubs import order, two_hubs
from tests.fixtures.postgres import SharedYard
from tests.fixtures.stub_run import running_http_stub


async def finds(hub: Doors) -> bool:
    """Tell whether a hub offers the app."""
    return "dev__echo" in await hub.tools()


async def test_each_hub_finds_the_app_that_one_has_defined(
    home: Path, shared_yard: SharedYard
) -> None:
    with running_http_stub("--name", "studio") as url:
        port = int(url.rpartition(":")[2].partition("/")[0])
        async with two_hubs(home, shared_yard) as (one, other):
            await order(one, "PUT", "/apps/studio", {"variants": {"dev": port}, "match": "studio"})
            for hub in (one, other):
                await hub.until(lambda hub=hub: finds(hub), 60)  # type: ignore[misc]
                assert await hub.text("dev__echo", text="hello") == "hello"
