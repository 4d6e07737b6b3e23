"""Heartbeats of hubs on one database: who lives, who is gone, and whose name is whose."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import pytest_asyncio

from tests.fixtures.postgres import PostgresServer, SharedYard
from toolyard.core.model import Report
from toolyard.core.problems import ProblemCode
from toolyard.core.replicas import KnownReplicas, LiveReplica, Replica
from toolyard.records.postgres.heartbeat import Heartbeat
from toolyard.records.postgres.shared import SharedDatabase

PATIENCE = 60.0
OLD = "UPDATE replicas SET until = clock_timestamp() - interval '1 second' WHERE id = %s"


class Hub:
    """A hub as far as its heart goes."""

    def __init__(
        self, yard: SharedYard, name: str, patient_seconds: float, beat_seconds: float
    ) -> None:
        self.database = SharedDatabase(yard.address, yard.schema, follows=False)
        self.known = KnownReplicas(LiveReplica(name, "", "1", 0))
        self.is_draining = self.is_closed = False
        self.heartbeat = Heartbeat(
            self.database,
            lambda: LiveReplica(name, "", "1", 2, self.is_draining),
            self.known,
            beat_seconds,
            patient_seconds,
        )
        self.reports: list[Report] = []
        self.task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Beat from now on."""
        self.task = asyncio.get_running_loop().create_task(self.heartbeat.run(self.reports.append))

    async def freeze(self) -> None:
        """Beat no more, as a process that is stopped or killed; its row is too old at once."""
        assert self.task is not None
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        with self.database.transaction() as connection:
            connection.execute(OLD, (self.known.own,))

    async def close(self) -> None:
        """Stop as a hub does."""
        if self.is_closed:
            return
        self.is_closed = True
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)
        await self.heartbeat.leave()
        self.database.close()

    async def knows(self, *names: str) -> None:
        """Wait until it takes exactly these for living."""
        await until(lambda: set(self.known.by_id) == set(names))


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110 - the database tells nobody
            await asyncio.sleep(0.01)


@pytest_asyncio.fixture
async def hub(shared_yard: SharedYard) -> AsyncIterator[Callable[..., Hub]]:
    """Makes hubs that share a yard."""
    async with AsyncExitStack() as stack:

        def make(name: str, patient_seconds: float = PATIENCE, beat_seconds: float = 0.02) -> Hub:
            made = Hub(shared_yard, name, patient_seconds, beat_seconds)
            stack.push_async_callback(made.close)
            return made

        yield make


async def test_a_hub_that_asks_hears_of_one_that_has_just_come(hub: Callable[..., Hub]) -> None:
    one, other = hub("one", beat_seconds=PATIENCE), hub("other")
    one.start()
    await one.knows("one")
    other.start()
    await other.heartbeat.has_begun.wait()
    async with asyncio.timeout(PATIENCE / 2):
        await asyncio.gather(one.heartbeat.hear(), one.heartbeat.hear())
    assert set(one.known.by_id) == {"one", "other"}


async def test_hubs_know_who_lives_and_who_drains(hub: Callable[..., Hub]) -> None:
    one, other = hub("one"), hub("other")
    for each in (one, other):
        each.start()
    await one.knows("one", "other")
    other.is_draining = True
    other.heartbeat.wake()
    await until(lambda: one.known.by_id["other"].is_draining)
    await other.close()
    await one.knows("one")
    assert one.heartbeat.departed.is_set()


async def test_a_hub_that_beats_no_more_is_gone_and_may_come_back(hub: Callable[..., Hub]) -> None:
    one, other = hub("one"), hub("other")
    for each in (one, other):
        each.start()
    await one.knows("one", "other")
    await other.freeze()
    await one.knows("one")
    assert one.heartbeat.departed.is_set()
    other.start()
    await one.knows("one", "other")


async def test_only_what_belongs_to_hubs_that_are_gone_may_be_swept(
    hub: Callable[..., Hub],
) -> None:
    one, other, third = hub("one"), hub("other"), hub("third")
    for each in (other, third):
        each.start()
    await other.knows("other", "third")
    await third.freeze()
    replica = Replica("yard", "one", one.heartbeat.live_ids)
    assert await replica.find_gone(["one", "other", "third", ""]) == {"one", "third", ""}


async def test_two_hubs_of_one_name_are_told_and_sweep_nothing(hub: Callable[..., Hub]) -> None:
    first, second = hub("one"), hub("one", patient_seconds=0.1)
    first.start()
    assert await first.heartbeat.live_ids() == {"one"}
    replica = Replica("yard", "one", second.heartbeat.live_ids)
    assert await replica.find_gone(["one", "gone"]) == frozenset()
    second.start()
    await until(lambda: bool(second.reports))
    (problem,) = second.reports[-1].problems
    assert (problem.code, problem.subject) == (ProblemCode.REPLICA_NAME, "one")
    await first.close()
    await until(lambda: not second.reports[-1].problems)


async def test_a_hub_that_was_killed_has_its_name_again(hub: Callable[..., Hub]) -> None:
    first, second = hub("one"), hub("one")
    first.start()
    assert await first.heartbeat.live_ids() == {"one"}
    await first.freeze()
    assert await second.heartbeat.live_ids() == {"one"}
    second.start()
    first.start()  # a process that was frozen, and goes on
    await until(lambda: second.known.by_id.keys() == {"one"})
    assert second.reports == []


async def test_without_the_database_nothing_may_be_swept_and_later_all_is_looked_at(
    hub: Callable[..., Hub], postgres: PostgresServer
) -> None:
    one = hub("one")
    one.start()
    assert await one.heartbeat.live_ids() == {"one"}
    await asyncio.to_thread(postgres.stop)
    replica = Replica("yard", "one", one.heartbeat.live_ids)
    assert await replica.find_gone(["one", "other"]) == frozenset()
    await asyncio.to_thread(postgres.start)
    async with asyncio.timeout(PATIENCE):
        await one.heartbeat.departed.wait()
    assert await replica.find_gone(["one", "other"]) == {"one", "other"}


def test_a_yard_has_a_name_of_its_own(postgres: PostgresServer) -> None:
    names = set()
    for yard in [postgres.new_yard()] * 2 + [postgres.new_yard()]:
        database = SharedDatabase(yard.address, yard.schema, follows=True)
        names.add(database.yard_name)
        database.close()
    assert len(names) == 2
    assert all(len(name) == 32 for name in names)
