"""The heartbeat of a hub in a fleet: says that it lives, and hears which others do.

Whatever else replicas tell each other through the database goes with it, in one transaction.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import monotonic
from typing import Final, Protocol

from toolyard.core.errors import StoreError
from toolyard.core.model import Problem, Report
from toolyard.core.problems import ProblemCode
from toolyard.core.replicas import KnownReplicas, LiveReplica
from toolyard.records.postgres.connections import Connection, Connections
from toolyard.records.postgres.replicas import LIFE_SECONDS, LiveRows, remove_row, renew_row
from toolyard.records.postgres.shared import SharedDatabase

log = logging.getLogger(__name__)

SOURCE: Final = "replicas"
BEAT_SECONDS: Final = 2.0
PATIENT_SECONDS: Final = LIFE_SECONDS + 2 * BEAT_SECONDS
"""The time in which a row of a hub that was killed has surely become too old."""

TakeIn = Callable[[], None]
Statements = Callable[[Connection], TakeIn]
"""Statements of a heartbeat, carried out in a thread; returns what takes in their answer."""


class Exchange(Protocol):
    """Something that replicas tell each other with their heartbeats."""

    def prepare(self) -> Statements:
        """Take down what is to be told; it is kept until the answer has been taken in."""
        ...


class Heartbeat:
    """Renews the row of a hub; a source, whose report says if another hub has its name."""

    name = SOURCE

    def __init__(
        self,
        database: SharedDatabase,
        describe: Callable[[], LiveReplica],
        known: KnownReplicas,
        beat_seconds: float = BEAT_SECONDS,
        patient_seconds: float = PATIENT_SECONDS,
    ) -> None:
        """Tell nothing yet; `describe` gives the hub as it is at each beat."""
        self._database = database
        self._describe = describe
        self._known = known
        self._exchanges: list[Exchange] = []
        self._beat_seconds = beat_seconds
        self._patient_seconds = patient_seconds
        self.start = uuid.uuid4().hex
        """Tells this process from others that had its name, or have."""
        # Nobody else's orders may keep it waiting: whoever is late is taken for gone.
        self._connections = Connections(database.connections.address, most=1)
        self._thread = ThreadPoolExecutor(1, "heartbeat")
        self._woken = asyncio.Event()
        self._hearing: asyncio.Future[None] | None = None
        """Done after the next beat, for those who wait for it."""
        self._is_away = False
        self._ahead = 0.0
        """Seconds of the database's clock when ours was at zero."""
        self._taken_since: float | None = None
        self.departed = asyncio.Event()
        """Set when a replica is gone, and when the database has come back."""
        self.has_begun = asyncio.Event()
        """Set after the first beat, whether the database answered or not."""
        self.report = Report(SOURCE)

    def add(self, exchange: Exchange) -> None:
        """Let something be told with every beat from now on."""
        self._exchanges.append(exchange)

    async def run(self, post: Callable[[Report], None]) -> None:
        """Beat until cancelled."""
        while True:
            self._woken.clear()
            hearing, self._hearing = self._hearing, None
            try:
                self._take_in(await self._beat(), post)
            except StoreError as error:  # the listener has it on the picture
                if not self._is_away:
                    log.warning("no heartbeat", extra={"why": str(error)})
                self._is_away = True
            finally:
                self.has_begun.set()
                if hearing is not None:
                    hearing.set_result(None)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), self._beat_seconds)

    def wake(self) -> None:
        """Beat at once: there is something to tell."""
        self._woken.set()

    async def hear(self) -> None:
        """Beat at once; return when all that live now are known, or the database did not answer.

        Whoever waits at the same time waits for the same beat. Nobody waits while the database is
        away.
        """
        if self._is_away:
            return
        if self._hearing is None:
            self._hearing = asyncio.get_running_loop().create_future()
            self.wake()
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._hearing), LIFE_SECONDS)

    def clock(self) -> float:
        """The database's time, as good as it is known: the same for all hubs."""
        return self._ahead + monotonic()

    async def live_ids(self) -> frozenset[str]:
        """The ids of all replicas that live; without the own one as long as that is not sure."""
        end = monotonic() + self._patient_seconds
        while True:
            try:
                rows = await self._beat()
            except StoreError:
                return frozenset()
            ids = frozenset(replica.id for replica in rows.replicas)
            if not rows.is_taken:
                return ids
            if monotonic() > end:
                return ids - {self._known.own}
            await asyncio.sleep(self._beat_seconds / 4)

    async def leave(self) -> None:
        """Beat no more, and remove the row if the database answers."""
        if not self._is_away:  # or stopping would wait for what does not come
            loop = asyncio.get_running_loop()
            with suppress(StoreError):
                await loop.run_in_executor(self._thread, self._remove)
        self._connections.close()
        self._thread.shutdown(wait=False)

    def _remove(self) -> None:
        with self._database.transaction(self._connections) as connection:
            remove_row(connection, self._known.own, self.start)

    async def _beat(self) -> LiveRows:
        """Tell and hear everything, once.

        Raises:
            StoreError: The database does not answer.
        """
        own, prepared = self._describe(), [one.prepare() for one in self._exchanges]
        loop = asyncio.get_running_loop()
        rows, answers = await loop.run_in_executor(self._thread, self._carry_out, own, prepared)
        self._ahead = rows.now - monotonic()
        for take_in in answers:
            take_in()
        return rows

    def _carry_out(
        self, own: LiveReplica, prepared: Sequence[Statements]
    ) -> tuple[LiveRows, list[TakeIn]]:
        with self._database.transaction(self._connections) as connection:
            rows = renew_row(connection, own, self.start)
            return rows, [statements(connection) for statements in prepared]

    def _take_in(self, rows: LiveRows, post: Callable[[Report], None]) -> None:
        live = {replica.id: replica for replica in rows.replicas}
        if self._known.hear(live) or self._is_away:
            self.departed.set()
        self._is_away = False
        self._tell(rows.is_taken, post)

    def _tell(self, is_taken: bool, post: Callable[[Report], None]) -> None:
        """Report a name that another hub keeps for longer than a hub that was killed would."""
        if not is_taken:
            self._taken_since = None
        elif self._taken_since is None:
            self._taken_since = monotonic()
        since = self._taken_since
        is_shared = since is not None and monotonic() - since > self._patient_seconds
        if is_shared == bool(self.report.problems):
            return
        self.report = Report(SOURCE, problems=(_shared(self._known.own),) if is_shared else ())
        post(self.report)


def _shared(name: str) -> Problem:
    text = f"another hub that shares the database is called {name!r}, too"
    hint = "give each hub a TOOLYARD_REPLICA of its own, and start this one again"
    return Problem(ProblemCode.REPLICA_NAME, text, hint, name)
