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
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from toolyard.core.errors import StoreError

log = logging.getLogger(__name__)

BATCH: Final = 500
WAITING: Final = 50_000
"""Rows that may wait to be written; beyond this they are dropped and counted."""

Row = tuple[Any, ...]


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
        self._waiting: queue.Queue[tuple[str, Row] | None] = queue.Queue(WAITING)
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
        if self._writer is None:
            self._writer = threading.Thread(target=self._write_on, name="database", daemon=True)
            self._writer.start()
        try:
            self._waiting.put_nowait((sql, values))
        except queue.Full:
            self.dropped += 1

    def close(self) -> None:
        """Write what waits, and close."""
        if self._writer is not None:
            self._waiting.put(None)
            self._writer.join(10)
        with self._lock:
            self._connection.close()

    def _write_on(self) -> None:
        while (first := self._waiting.get()) is not None:
            batch, last = self._batch(first)
            try:
                with self.change() as connection:
                    for sql, values in batch:
                        connection.execute(sql, values)
            except StoreError as error:
                self.dropped += len(batch)
                log.warning("rows were not written", extra={"why": str(error)})
            if last:
                return

    def _batch(self, first: tuple[str, Row]) -> tuple[list[tuple[str, Row]], bool]:
        batch = [first]
        while len(batch) < BATCH:
            try:
                item = self._waiting.get_nowait()
            except queue.Empty:
                return batch, False
            if item is None:
                return batch, True
            batch.append(item)
        return batch, False

    @contextlib.contextmanager
    def _guard(self) -> Iterator[None]:
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                raise StoreError(f"the database {self.path.name} failed ({error})") from error
