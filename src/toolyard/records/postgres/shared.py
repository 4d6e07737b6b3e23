"""One yard in PostgreSQL, shared by hubs: orders go there, and every hub follows into its memory.

Each order is one transaction that also counts the yard's revision up. The row of that count lets
one order through at a time, so revisions have no gaps and are visible in their order: whoever
knows one has missed nothing before it, and asks for what is newer.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from toolyard.core.errors import ConflictError, StoreError
from toolyard.records.follow import ChangeSignal
from toolyard.records.postgres.connections import Connection, Connections
from toolyard.records.postgres.memory import NEVER, Memory
from toolyard.records.postgres.order import RecordOrder, WriteNote
from toolyard.records.postgres.outbox import Outbox
from toolyard.records.postgres.schema import bring_up_to_date, channel, enter

log = logging.getLogger(__name__)

_NEXT: Final = "UPDATE yard SET revision = revision + 1 RETURNING revision"
_NEWER: Final = """
SELECT yard.revision, yard.pruned, yard.name, kind, key, value::text, version
FROM yard LEFT JOIN records ON version > %s
"""
_LOCK: Final = "SELECT revision FROM yard FOR UPDATE"
_PRUNE: Final = """
WITH gone AS (
    DELETE FROM records WHERE value IS NULL AND at < now() - interval '1 day' RETURNING version
)
UPDATE yard SET pruned = greatest(pruned, (SELECT max(version) FROM gone))
"""
_PRUNE_FLEET: Final = (
    "DELETE FROM replicas WHERE until < clock_timestamp() - interval '1 day'",
    """
    DELETE FROM leases WHERE NOT EXISTS (
        SELECT FROM replicas WHERE id = leases.replica AND start = leases.start
    )
    """,
    "DELETE FROM ended_sessions WHERE until < clock_timestamp()",
    "DELETE FROM session_notes WHERE until < clock_timestamp()",
    "DELETE FROM limit_shares WHERE until < clock_timestamp()",
)


class SharedDatabase:
    """The records of one yard; every method may be called from any thread."""

    def __init__(self, address: str, schema: str, *, follows: bool) -> None:
        """Read all records, if the database answers.

        Args:
            follows: Somebody runs a `SharedListener`, so that reading need not ask the database.

        Raises:
            ConfigError: The address cannot be understood.
        """
        self.connections = Connections(address)
        self.channel = channel(schema)
        self._schema = schema
        self._follows = follows
        self._is_prepared = False
        self._lock = threading.Lock()
        self._signals: list[tuple[Callable[[frozenset[str]], bool], ChangeSignal]] = []
        self._memory = Memory()
        self.yard_name = ""
        """The lasting name of the yard; empty until the database has answered."""
        self._failure = StoreError(f"the database {self.name} was not read yet")
        self.outbox = Outbox(self._write_notes)
        """Writes what nobody waits for."""
        self._closers: list[Callable[[], None]] = []
        if follows:
            try:
                self.refresh()
            except StoreError as error:
                log.warning("nothing is known yet", extra={"why": str(error)})

    @property
    def name(self) -> str:
        """The database as messages have it."""
        return f"{self.connections.name}, schema {self._schema}"

    @property
    def revision(self) -> int:
        """The revision of the yard that is known."""
        return self._memory.revision

    def follow(self, kinds: Collection[str], changes: ChangeSignal | None = None) -> ChangeSignal:
        """Give the changes of some kinds from now on, perhaps among others."""
        followed = frozenset(kinds)
        return self._signal(lambda changed: bool(changed & followed), changes or ChangeSignal())

    def follow_family(self, *words: str) -> ChangeSignal:
        """Give the changes of all kinds whose first word is one of these."""
        return self._signal(
            lambda changed: any(kind.split(" ", 1)[0] in words for kind in changed), ChangeSignal()
        )

    def _signal(
        self, concerns: Callable[[frozenset[str]], bool], changes: ChangeSignal
    ) -> ChangeSignal:
        self._signals.append((concerns, changes))
        return changes

    def read(self) -> Memory:
        """Return all records: as they were last heard of where a hub follows, else as they are.

        Raises:
            StoreError: They were never read, or cannot be.
        """
        if not self._follows:
            self.refresh()
        if self._memory.revision == NEVER:
            raise self._failure
        return self._memory

    def revision_of(self, kinds: Collection[str]) -> int:
        """The revision at which one of these kinds was last another, as far as is known."""
        return self._memory.revision_of(kinds)

    @contextmanager
    def order(self, by: str = "") -> Iterator[RecordOrder]:
        """Carry out an order; whoever follows is told once it is done.

        Raises:
            DatabaseAwayError: The database does not answer.
            StoreError: It refuses.
        """
        try:
            with self.transaction() as connection:
                row = connection.execute(_NEXT).fetchone()
                assert row is not None
                yield RecordOrder(connection, int(row[0]), by)
                connection.execute("SELECT pg_notify(%s, %s)", (self.channel, str(row[0])))
        except ConflictError:
            self._catch_up()  # with what the caller did not know of
            raise
        self._catch_up()

    @contextmanager
    def transaction(self, over: Connections | None = None) -> Iterator[Connection]:
        """Several statements about this yard that happen together; raises like `order`.

        They go over the connections for orders, or over others to the same database.
        """
        with (over or self.connections).transaction() as connection:
            if self._is_prepared:
                enter(connection, self._schema)
            else:
                bring_up_to_date(connection, self._schema)
            yield connection
        self._is_prepared = True

    def refresh(self) -> None:
        """Read what is newer than what is known, and tell those whom it concerns.

        Raises:
            StoreError: It cannot be read.
        """
        with self._lock:
            before = self._memory
            try:
                self._memory = self._newer(before)
            except StoreError as error:
                self._failure = error
                raise
            concerned = self._memory.differing(before)
            is_first = before.revision == NEVER
        for concerns, changes in self._signals:
            if is_first or concerns(concerned):
                changes.tell_soon()

    def prune(self) -> None:
        """Remove for good what was deleted a day ago, and what replicas need no longer.

        Raises:
            StoreError: It cannot be removed.
        """
        with self.transaction() as connection:
            connection.execute(_LOCK)
            connection.execute(_PRUNE)
            for statement in _PRUNE_FLEET:
                connection.execute(statement)

    def on_close(self, close: Callable[[], None]) -> None:
        """Have something closed with the database, before it."""
        self._closers.append(close)

    def close(self) -> None:
        """Write what waits, if the database answers, and close the connections."""
        for close in self._closers:
            close()
        self.outbox.close()
        self.connections.close()

    def _write_notes(self, writes: Sequence[WriteNote]) -> int:
        with self.order() as order:
            for write in writes:
                write(order)
        return order.revision

    def _newer(self, before: Memory) -> Memory:
        with self.transaction() as connection:
            rows = connection.execute(_NEWER, (before.revision,)).fetchall()
            revision, pruned, self.yard_name = rows[0][:3]
            if revision == before.revision:
                return before
            if before.revision < pruned:  # deletions may have been missed
                rows = connection.execute(_NEWER, (NEVER,)).fetchall()
                revision = rows[0][0]
                return before.anew(revision, _records(rows))
        return before.changed(revision, _records(rows))

    def _catch_up(self) -> None:
        try:
            self.refresh()
        except StoreError as error:  # whoever follows does so later
            log.warning("an order is not seen yet", extra={"why": str(error)})


def _records(rows: list[tuple[object, ...]]) -> list[tuple[str, str, str | None, int]]:
    return [row[3:] for row in rows if row[3] is not None]  # type: ignore[misc]
