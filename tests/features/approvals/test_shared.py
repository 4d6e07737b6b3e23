"""Two real hubs on one database: what is approved at one counts at the other, on every door."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.doors.doors import Doors
from tests.features.approvals.yard import says, tool
from tests.fixtures.hubs import order, sees, send, two_hubs
from tests.fixtures.postgres import PostgresServer, SharedYard

BOTH = {"shop__look", "shop__buy"}


def lists(hub: Doors, names: set[str]) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        return await hub.tools() == names

    return look


async def held(hub: Doors) -> list[str]:
    """The tools of the shop that wait at a hub."""
    answer = (await send(hub, "GET", "/servers/shop/changes")).json()
    tools: list[str] = answer.get("held", [])
    return tools


async def open_shop(home: Path, *hubs: Doors) -> None:
    """Add a server with two tools at the first hub, and wait until all list them."""
    await order(
        hubs[0],
        "POST",
        "/servers",
        {"name": "shop", "entry": says(home, "shop", tool("look"), tool("buy"))},
    )
    for hub in hubs:
        await hub.until(lists(hub, BOTH), 60)


async def restock(home: Path, text: str, *hubs: Doors) -> None:
    """Start the server again, with another tool to buy, at some hubs."""
    says(home, "shop", tool("look"), tool("buy", text))
    for hub in hubs:
        await order(hub, "POST", "/servers/shop/restart")


async def test_what_is_approved_at_one_hub_is_listed_at_the_other_and_the_text_before_is_not(
    home: Path, shared_yard: SharedYard
) -> None:
    async with two_hubs(home, shared_yard) as (a, b):
        await open_shop(home, a, b)
        await restock(home, "buys much", a, b)
        for hub in (a, b):
            await hub.until(lists(hub, {"shop__look"}), 60)
        await order(a, "POST", "/servers/shop/approve", {"tools": ["buy"]})
        assert await a.tools() == BOTH
        await b.until(lists(b, BOTH), 60)
        assert await b.text("shop__buy") == "buy was done"

        await restock(home, "buys all", a)
        await order(a, "POST", "/servers/shop/approve", {})
        await b.until(lists(b, {"shop__look"}), 60)
        assert await held(b) == ["buy"]
        assert await b.fault("shop__buy")
        await order(b, "POST", "/servers/shop/restart")
        await b.until(lists(b, BOTH), 60)


async def test_any_text_that_is_approved_at_one_hub_and_no_more_holds_at_the_other(
    home: Path, shared_yard: SharedYard
) -> None:
    async with two_hubs(home, shared_yard) as (a, b):
        await open_shop(home, a, b)
        await order(a, "POST", "/servers/shop/approve", {"tools": ["buy"], "any_text": True})
        await sees(b, "/servers/shop/changes", lambda answer: answer["any_text"])
        await restock(home, "buys much", b)
        await b.until(lists(b, BOTH), 60)
        await order(a, "POST", "/servers/shop/approve", {"tools": ["buy"]})
        await b.until(lists(b, {"shop__look"}), 60)


async def test_a_changed_launch_that_one_hub_approves_is_approved_at_the_other(
    home: Path, shared_yard: SharedYard
) -> None:
    async with two_hubs(home, shared_yard, pins_launch="all") as (a, b):
        await open_shop(home, a, b)
        other = says(home, "shop", tool("look"), tool("buy"))
        other["env"] = {"MORE": "1"}
        await order(b, "PUT", "/servers/shop", other)

        def waits(answer: dict[str, object]) -> bool:
            return answer["launch"] is True

        for hub in (a, b):
            await sees(hub, "/servers/shop/changes", waits)
            await hub.until(lists(hub, set()), 60)
        await order(a, "POST", "/servers/shop/approve", {})
        for hub in (a, b):
            await sees(hub, "/servers/shop/changes", lambda answer: not answer["launch"])
            await hub.until(lists(hub, BOTH), 60)


async def test_what_is_first_seen_while_the_database_is_away_is_written_later(
    home: Path, postgres: PostgresServer, shared_yard: SharedYard
) -> None:
    async with two_hubs(home, shared_yard) as (a, b):
        await open_shop(home, a, b)
        await asyncio.to_thread(postgres.stop)
        try:
            says(home, "shop", tool("look"), tool("buy"), tool("pay"))
            await order(a, "POST", "/servers/shop/restart")
            await a.until(lists(a, {*BOTH, "shop__pay"}), 60)
            answer = await send(a, "POST", "/servers/shop/approve", {})
            assert (answer.status, answer.json()["code"]) == (503, "database-away")
            assert await b.text("shop__look") == "look was done"
        finally:
            await asyncio.to_thread(postgres.start)
        says(home, "shop", tool("look"), tool("buy"), tool("pay", "takes all"))
        # What A saw first is known at B as soon as the database is there again.
        await sees(b, "/servers/shop/changes", lambda answer: answer["new"] == ["pay"])
        await order(b, "POST", "/servers/shop/restart")
        await b.until(lists(b, BOTH), 60)
        assert await held(b) == ["pay"]
