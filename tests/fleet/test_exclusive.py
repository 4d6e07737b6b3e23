"""An exclusive server never runs twice at a time, whatever happens to the hub that runs it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.talk import text_of
from tests.fixtures.postgres import PostgresServer, SharedYard, postgres, shared_yard
from tests.fleet.fleet import Wanderer, ask, running_shared_fleet, wandering
from tests.fleet.owners import Owners, sole_entry, starts

__all__ = ["postgres", "shared_yard"]

WHERE = {"name": "sole__where", "arguments": {}}


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    """The file of the exclusive server; it never says that two have met."""
    yield tmp_path / "sole"
    assert not starts(tmp_path / "sole", "two")


@pytest.mark.fleet
async def test_never_two_run_when_owners_are_killed_and_frozen(
    shared_yard: SharedYard, file: Path
) -> None:
    with Owners(shared_yard, file) as owners:
        for number in range(3):
            await owners.round(number)


async def test_it_ends_before_another_hub_may_start_it_when_the_database_is_away(
    postgres: PostgresServer, file: Path
) -> None:
    with running_shared_fleet(postgres.new_yard(), 2, {"sole": sole_entry(file)}) as hubs:
        details = ask(hubs[0].hub, "GET", "servers/sole")
        assert details["exclusive"]
        assert "never runs twice" in hubs[0].hub.run("server", "show", "sole")
        async with wandering(hubs[0].hub) as one, wandering(hubs[1].hub) as other:
            before = await pid_of(one)
            assert await pid_of(other) == before
            await asyncio.to_thread(postgres.stop)
            try:
                async with asyncio.timeout(60):
                    while Path(f"/proc/{before}").exists():  # noqa: ASYNC110
                        await asyncio.sleep(0.05)
                for client in (one, other):
                    fault = await client.fault("tools/call", WHERE)
                    assert "exclusive" in fault["message"]
            finally:
                await asyncio.to_thread(postgres.start)
            async with asyncio.timeout(60):
                while (after := await try_pid(one)) is None:
                    pass
            assert await pid_of(other) == after
    assert len(starts(file)) >= 2


async def pid_of(client: Wanderer) -> int:
    """The process that serves a client."""
    pid = await try_pid(client)
    assert pid is not None
    return pid


async def try_pid(client: Wanderer) -> int | None:
    """The same; None if there is none."""
    reply = await client.request("tools/call", WHERE)
    return json.loads(text_of(reply["result"]))["pid"] if "result" in reply else None


async def test_an_address_cannot_be_exclusive(shared_yard: SharedYard) -> None:
    with running_shared_fleet(shared_yard, 1) as (hub,):
        order = {"name": "web", "entry": {"url": "http://127.0.0.1:1/mcp", "exclusive": True}}
        with pytest.raises(AssertionError, match="about a process"):
            ask(hub.hub, "POST", "servers", order)
