"""Two members at two hubs: no answer, process or memory of one has a credential of the other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.control.company import send
from tests.fixtures.issuer import issuing
from tests.fixtures.naming_issuer import NamingIssuer
from tests.fixtures.postgres import SharedYard, postgres, shared_yard
from tests.fixtures.signing_issuer import SigningIssuer, signing
from tests.fleet.member_calls import SECRETS, memory_of, open_fleet

__all__ = ["postgres", "shared_yard"]
CALLS = int(os.environ.get("MEMBER_CALLS", "300"))
"""10,000 at full size."""


@pytest.fixture
def people() -> Iterator[SigningIssuer]:
    with signing() as running:
        yield running


@pytest.fixture
def remote() -> Iterator[NamingIssuer]:
    with issuing(NamingIssuer()) as running:
        assert isinstance(running, NamingIssuer)
        yield running


async def test_no_call_crosses_over_from_one_member_to_another(
    home: Path, shared_yard: SharedYard, people: SigningIssuer, remote: NamingIssuer
) -> None:
    async with open_fleet(home, shared_yard, people, remote) as fleet:
        outcomes = await fleet.storm(CALLS, seed=15)
        assert outcomes == {"right": CALLS}
        pids = await fleet.processes()
        assert len(pids) == 2, "one process for each member, wherever they call"
        for pid in pids:
            memory = memory_of(pid)
            holds = [name for name, value in SECRETS.items() if value.encode() in memory]
            assert len(holds) == 1, f"{pid} holds the secrets of {holds}"


async def test_a_member_who_is_removed_at_one_hub_leaves_nothing_at_the_other(
    home: Path, shared_yard: SharedYard, people: SigningIssuer, remote: NamingIssuer
) -> None:
    async with open_fleet(home, shared_yard, people, remote) as fleet:
        here, there = fleet.hubs
        for place in (1, 0):
            for name, value in SECRETS.items():
                assert await fleet.call(name, place, "mine__env") == value
        before = await fleet.processes()
        assert len(before) == 2

        async def is_written() -> bool:
            rows = (await here.get("/api/v1/members"))["members"]
            return {row["subject"] for row in rows} == {*SECRETS}

        await here.until(is_written)
        assert (await send(here, "DELETE", "/api/v1/members/ann")).status == 200

        async def is_over() -> bool:
            return len(await fleet.processes()) == 1

        await there.until(is_over)
        for place in (0, 1):
            assert await fleet.call("bob", place, "mine__env") == SECRETS["bob"]
            assert await fleet.call("bob", place, "remote__whoami") == "bob"
        # Whoever comes back begins anew.
        fleet.come_back("ann")

        async def begins_anew() -> bool:
            texts = [
                await fleet.call("ann", place, tool)
                for place in (0, 1)
                for tool in ("mine__env", "remote__whoami")
            ]
            return all("needs your" in text for text in texts)

        await there.until(begins_anew)
