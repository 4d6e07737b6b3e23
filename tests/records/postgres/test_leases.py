"""Leases of processes on one database: one holder at a time, and none for ever."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, ExitStack, suppress

import pytest_asyncio

from tests.fixtures.postgres import SharedYard
from toolyard.core.errors import StoreError
from toolyard.core.leases import Lease, lease_key
from toolyard.core.model import ServerId
from toolyard.core.replicas import KnownReplicas, LiveReplica
from toolyard.records.postgres.heartbeat import Heartbeat
from toolyard.records.postgres.leases import SharedLeases
from toolyard.records.postgres.shared import SharedDatabase

PATIENCE = 60.0
OLD = "UPDATE replicas SET until = clock_timestamp() - interval '1 second' WHERE id = %s"
BEAT = "UPDATE replicas SET until = clock_timestamp() + interval '6 seconds' WHERE id = %s"
WAITS = "SELECT count(*) FROM pg_locks WHERE NOT granted"
KEY = lease_key(ServerId("clock", "configured"))


class Hub:
    """A hub as far as its leases go; it beats when it is told to."""

    def __init__(self, yard: SharedYard, name: str) -> None:
        self.name = name
        self.database = SharedDatabase(yard.address, yard.schema, follows=False)
        own = LiveReplica(name, "", "1", 0)
        self.known = KnownReplicas(own)
        self.heartbeat = Heartbeat(self.database, lambda: own, self.known)
        self.leases = SharedLeases(self.database, self.known, self.heartbeat.start)
        self.heartbeat.add(self.leases)
        self.lost: list[Lease] = []
        self.stack = ExitStack()

    async def beat(self) -> None:
        """Beat once."""
        assert self.name in await self.heartbeat.live_ids()

    async def take(self, key: str = KEY, *, may_take: bool = True) -> Lease | None:
        """Take a lease, and look after it if it is its own."""
        lease = await self.leases.take(key, may_take=may_take)
        if lease is not None and lease.holder == self.name:
            holding = self.leases.holding(lease, lambda: self.lost.append(lease))
            self.stack.enter_context(holding)
        return lease

    def grow_old(self) -> None:
        """Be gone for the others, as one that was killed or frozen 6 s ago."""
        with self.database.transaction() as connection:
            connection.execute(OLD, (self.name,))

    def is_waiting(self) -> bool:
        """Tell whether somebody waits for a lock."""
        with self.database.transaction() as connection:
            return bool((connection.execute(WAITS).fetchone() or (0,))[0])

    async def close(self) -> None:
        """Stop."""
        self.stack.close()
        await self.heartbeat.leave()
        self.database.close()


@pytest_asyncio.fixture
async def hub(shared_yard: SharedYard) -> AsyncIterator[Callable[[str], Hub]]:
    """Makes hubs that share a yard."""
    async with AsyncExitStack() as stack:

        def make(name: str) -> Hub:
            made = Hub(shared_yard, name)
            stack.push_async_callback(made.close)
            return made

        yield make


async def test_who_has_no_heartbeat_gets_no_lease(hub: Callable[[str], Hub]) -> None:
    one = hub("one")
    assert await one.take() is None
    await one.beat()
    assert (await one.take()) is not None


async def test_of_many_that_want_a_lease_one_gets_it(hub: Callable[[str], Hub]) -> None:
    hubs = [hub(f"hub-{number}") for number in range(4)]
    for one in hubs:
        await one.beat()
    leases = await asyncio.gather(*(one.take() for one in hubs for _ in range(3)))
    (holder,) = {lease.holder for lease in leases if lease is not None}
    for one in hubs:
        await one.beat()
        assert one.known.runners == {"clock@configured": holder}


async def test_a_lease_that_was_given_back_is_the_next_ones(hub: Callable[[str], Hub]) -> None:
    one, other = hub("one"), hub("other")
    for each in (one, other):
        await each.beat()
    first = await one.take()
    assert first is not None
    assert await other.take() == first
    await one.leases.release(first)
    assert await other.take(may_take=False) is None
    second = await other.take()
    assert second is not None
    assert (second.holder, second.epoch > first.epoch) == ("other", True)


async def test_the_lease_of_a_hub_that_is_gone_is_taken_over_and_it_is_told(
    hub: Callable[[str], Hub],
) -> None:
    one, other = hub("one"), hub("other")
    for each in (one, other):
        await each.beat()
    first = await one.take()
    assert first is not None
    assert one.leases.has(first)
    one.grow_old()
    second = await other.take()
    assert second is not None
    assert (second.holder, second.epoch > first.epoch) == ("other", True)
    await one.beat()
    assert one.lost == [first]
    assert not one.leases.has(first)
    # What it writes late about the lease that it had changes nothing.
    await one.leases.release(first)
    assert await one.take() == second
    await other.beat()
    assert other.lost == []


async def test_a_lease_stays_with_a_hub_that_was_late_but_came_first(
    hub: Callable[[str], Hub],
) -> None:
    """The row of a holder is locked, so a beat under way comes before or after a takeover."""
    one, other = hub("one"), hub("other")
    for each in (one, other):
        await each.beat()
    first = await one.take()
    one.grow_old()
    async with asyncio.TaskGroup() as group:
        with one.database.transaction() as connection:
            connection.execute(BEAT, (one.name,))
            taking = group.create_task(other.take())
            async with asyncio.timeout(PATIENCE):
                while not await asyncio.to_thread(other.is_waiting):
                    assert not taking.done()
    assert taking.result() == first


async def test_a_hub_of_the_same_name_has_not_the_leases_of_the_one_before(
    hub: Callable[[str], Hub],
) -> None:
    one, other = hub("one"), hub("other")
    for each in (one, other):
        await each.beat()
    await one.take()
    one.grow_old()
    again = hub("one")
    await again.beat()
    lease = await other.take()
    assert lease is not None
    assert lease.holder == "other"


async def test_what_could_not_be_given_back_is_with_the_next_beat(
    hub: Callable[[str], Hub],
) -> None:
    one, other = hub("one"), hub("other")
    for each in (one, other):
        await each.beat()
    first = await one.take()
    assert first is not None
    one.leases._unreleased.add(first)
    one.stack.close()
    await one.beat()
    lease = await other.take()
    assert lease is not None
    assert lease.holder == "other"


async def test_a_hub_that_is_frozen_in_a_beat_does_not_keep_its_lease(
    hub: Callable[[str], Hub],
) -> None:
    one, other = hub("one"), hub("other")
    for each in (one, other):
        await each.beat()
    await one.take()
    one.grow_old()
    leases = []
    with suppress(StoreError), one.database.transaction() as connection:
        connection.execute(BEAT, (one.name,))
        leases.append(await other.take())
    assert [lease.holder for lease in leases if lease is not None] == ["other"]
