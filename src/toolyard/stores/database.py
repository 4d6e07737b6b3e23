"""The hub's own database: SQLite, one connection, small tables, migrations in order.

What must survive a crash is written when `write` returns; what may be lost for a
moment's work (the call history) is handed to `later`, which batches in a thread.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolyard.core.errors import StoreError

log = logging.getLogger(__name__)

BATCH: Final = 500
WAITING: Final = 50_000
"""Rows that may wait to be written; beyond this they are dropped and counted."""

CACHE: Final = 256
"""KiB of pages that the connection keeps; the system has the file in memory anyway."""

SETTLE_SECONDS: Final = 10.0

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows that wait to be written; `make` finishes each, in the writer's thread."""

    sql: str
    rows: Sequence[Row]
    make: Callable[[Row], Row] | None
    count: int


class Database:
    """Tables in one file; every method may be called from any thread."""

    def __init__(self, path: Path, migrations: Sequence[str]) -> None:
        """Open the file and bring it up to date.

        Raises:
            StoreError: It cannot be opened, or is newer than we are.
        """
        self.path = path
        self.dropped = 0
        self._lock = threading.Lock()
        self._waiting: queue.Queue[_Rows | threading.Event | None] = queue.Queue()
        self._given = self._taken = 0
        self._writer: threading.Thread | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            path.chmod(0o600)
            self._prepare(migrations)
        except (sqlite3.Error, OSError) as error:
            hint = "move the file away to start anew, or mend its rights"
            raise StoreError(f"cannot open {path} ({error})", hint) from error

    def _prepare(self, migrations: Sequence[str]) -> None:
        run = self._connection.execute
        run("PRAGMA journal_mode=WAL")
        run("PRAGMA synchronous=NORMAL")
        run("PRAGMA busy_timeout=5000")
        run("PRAGMA foreign_keys=ON")
        run(f"PRAGMA cache_size=-{CACHE}")
        (version,) = run("PRAGMA user_version").fetchone()
        if version > len(migrations):
            raise StoreError(f"{self.path} was written by a newer toolyard", "update toolyard")
        for number, script in enumerate(migrations[version:], version + 1):
            self._connection.executescript(f"BEGIN;{script};PRAGMA user_version={number};COMMIT;")

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """All rows of a query."""
        with self._guard():
            return self._connection.execute(sql, values).fetchall()

    def write(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Change something; return how many rows."""
        with self._guard():
            return self._connection.execute(sql, values).rowcount

    @contextlib.contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """Several changes that happen together or not at all."""
        with self._guard():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def later(self, sql: str, values: Row) -> None:
        """Write soon, from a thread of its own; never blocks, drops rather than grows."""
        self.later_all(sql, (values,))

    def later_all(
        self,
        sql: str,
        rows: Sequence[Row],
        make: Callable[[Row], Row] | None = None,
        count: int = 0,
    ) -> bool:
        """Write many rows soon; `make` turns what was given into a row, in the thread.

        Where a row holds several things, `count` says how many.

        False if they are dropped, because too many wait already.
        """
        count = count or len(rows)
        if self._given - self._taken + count > WAITING:
            self.dropped += count
            return False
        self._given += count
        self._pass_on(_Rows(sql, rows, make, count))
        return True

    def settle(self) -> None:
        """Wait until what was given to `later` so far is written, within bounds."""
        if self._writer is not None:
            written = threading.Event()
            self._pass_on(written)
            written.wait(SETTLE_SECONDS)

    def _pass_on(self, item: _Rows | threading.Event) -> None:
        if self._writer is None:
            self._writer = threading.Thread(target=self._write_on, name="database", daemon=True)
            self._writer.start()
        self._waiting.put_nowait(item)

    def close(self) -> None:
        """Write what waits, and close."""
        if self._writer is not None:
            self._waiting.put(None)
            self._writer.join(10)
        with self._lock:
            self._connection.close()

    def _write_on(self) -> None:
        last = False
        while not last:
            batch, waiters, last = self._batch(self._waiting.get())
            try:
                self._write(batch)
            except Exception as error:
                # Whatever is wrong with these rows, those to come must be written.
                self.dropped += sum(each.count for each in batch)
                log.warning("rows were not written", extra={"why": str(error)})
            self._taken += sum(each.count for each in batch)
            for each in waiters:
                each.set()

    def _write(self, batch: list[_Rows]) -> None:
        if not batch:
            return
        with self.change() as connection:
            for each in batch:
                rows = map(each.make, each.rows) if each.make is not None else each.rows
                connection.executemany(each.sql, rows)

    def _batch(
        self, item: _Rows | threading.Event | None
    ) -> tuple[list[_Rows], list[threading.Event], bool]:
        """What waits and fits into one transaction, who waits for it, and whether it is the end."""
        batch: list[_Rows] = []
        waiters: list[threading.Event] = []
        rows = 0
        while item is not None:
            if isinstance(item, threading.Event):
                waiters.append(item)
            else:
                batch.append(item)
                rows += item.count
            if rows >= BATCH or self._waiting.empty():
                return batch, waiters, False
            item = self._waiting.get_nowait()
        return batch, waiters, True

    @contextlib.contextmanager
    def _guard(self) -> Iterator[None]:
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                raise StoreError(f"the database {self.path.name} failed ({error})") from error
