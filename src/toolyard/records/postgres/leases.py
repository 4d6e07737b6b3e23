"""The leases of one hub: taken and given back by its links, looked after with every heartbeat."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Final

from toolyard.core.errors import StoreError
from toolyard.core.leases import Deadline, Lease, find_runners
from toolyard.core.replicas import KnownReplicas
from toolyard.records.postgres.connections import Connection
from toolyard.records.postgres.heartbeat import Statements, TakeIn
from toolyard.records.postgres.lease_rows import read_leases, release_leases, take_lease
from toolyard.records.postgres.replicas import LIFE_SECONDS
from toolyard.records.postgres.shared import SharedDatabase

log = logging.getLogger(__name__)

END_SECONDS: Final = 1.0
"""The time in which a process ends that is killed, and a margin for clocks that run unevenly."""


class SharedLeases:
    """Knows which leases this hub has, and until when that is sure by its own clock."""

    def __init__(self, database: SharedDatabase, known: KnownReplicas, start: str) -> None:
        """Take leases for the replica that knows the others, and began with the mark `start`."""
        self.own = known.own
        self._known = known
        self._database = database
        self._start = start
        self._sure_until = 0.0
        self._held: dict[Lease, tuple[Callable[[], None], Deadline]] = {}
        """What is to be done when a lease is lost, and until when it is surely not."""
        self._unreleased: set[Lease] = set()
        self._on_sure: list[Callable[[], None]] = []

    def is_sure(self) -> bool:
        """True while the others cannot take this hub for gone."""
        return monotonic() < self._sure_until

    def when_sure(self, call: Callable[[], None]) -> None:
        """Call this with every heartbeat that the database has taken."""
        self._on_sure.append(call)

    def has(self, lease: Lease) -> bool:
        """True if the lease is this hub's for sure."""
        return lease in self._held and self.is_sure()

    def has_key(self, key: str) -> bool:
        """True if this hub has the lease of that process."""
        return any(lease.key == key for lease in self._held)

    async def take(self, key: str, *, may_take: bool) -> Lease | None:
        """Take a lease, if nobody who lives has it; return whose it is then.

        None if it is nobody's yet.

        Raises:
            StoreError: The database does not answer.
        """
        return await asyncio.to_thread(self._take, key, may_take)

    def _take(self, key: str, may_take: bool) -> Lease | None:
        with self._database.transaction() as connection:
            return take_lease(connection, key, self.own, self._start, may_take=may_take)

    @contextmanager
    def holding(self, lease: Lease, on_lost: Callable[[], None]) -> Iterator[Deadline]:
        """While inside, look after a lease; `on_lost` is called if another has taken it.

        Gives the time at which an exclusive process must have ended: nobody can have taken it then.
        """
        deadline = Deadline(self._sure_until - END_SECONDS)
        self._held[lease] = on_lost, deadline
        try:
            yield deadline
        finally:
            self._held.pop(lease, None)

    async def release(self, lease: Lease) -> None:
        """Give a lease back; if the database is away, the next heartbeat does."""
        try:
            await asyncio.to_thread(self._release, lease)
        except StoreError:
            self._unreleased.add(lease)

    def _release(self, lease: Lease) -> None:
        with self._database.transaction() as connection:
            release_leases(connection, self._start, [lease])

    # With every heartbeat.

    def prepare(self) -> Statements:
        """Look at the leases of this hub, and give back what could not be given back before."""
        began, held = monotonic(), frozenset(self._held)
        unreleased = frozenset(self._unreleased)

        def look(connection: Connection) -> TakeIn:
            release_leases(connection, self._start, unreleased)
            own, leases = read_leases(connection, self.own, self._start)
            return lambda: self._take_in(began, held & own, held - own, unreleased, leases)

        return look

    def _take_in(
        self,
        began: float,
        confirmed: frozenset[Lease],
        lost: frozenset[Lease],
        released: frozenset[Lease],
        leases: Sequence[Lease],
    ) -> None:
        self._known.runners = find_runners(leases)
        self._unreleased -= released
        # Counted from before the database was asked: its row is surely good for longer.
        self._sure_until = began + LIFE_SECONDS
        for lease in lost & self._held.keys():
            log.warning("a lease was lost", extra={"key": lease.key, "epoch": lease.epoch})
            self._held.pop(lease)[0]()
        for lease in confirmed & self._held.keys():
            self._held[lease][1].move(self._sure_until - END_SECONDS)
        for call in self._on_sure:
            call()
