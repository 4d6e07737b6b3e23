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
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol, TypeVar

from toolyard.core.errors import StoreError
from toolyard.records.files import locked

log = logging.getLogger(__name__)

BATCH: Final = 500
AT_ONCE: Final = (1000, 100, 10, 1)
"""Rows that one statement inserts. SQLite lets go of the interpreter's lock for each statement, and
to get it back from a busy loop takes longer than the row."""
WAITING: Final = 50_000
"""Rows that may wait to be written; beyond this they are dropped and counted."""

CACHE: Final = 256
"""KiB of pages that the connection keeps; the system has the file in memory anyway."""

SETTLE_SECONDS: Final = 10.0
OPEN_SECONDS: Final = 30.0
"""How long another process that is bringing the file up to date is waited for."""

READ_ONLY_HINT: Final = "make its directory writable or free some space, then run: toolyard restart"

Row = tuple[Any, ...]
Value = TypeVar("Value")
_Statement = tuple[str, Row]
Step = Callable[[sqlite3.Connection], None]
"""Something to do within a transaction."""
Migration = str | Callable[[sqlite3.Connection], None]
"""A script, or a function where SQL alone cannot say what is to be done."""


@dataclass(frozen=True, slots=True)
class _Change:
    """A statement that waits to be carried out."""

    sql: str
    values: Row
    count: ClassVar = 1

    def prepare(self) -> list[_Statement | Step]:
        """Return the statements to carry out."""
        return [(self.sql, self.values)]

    def committed(self) -> None:
        """Nobody is to be told."""


class InsertedRows(Protocol):
    """Whoever adds something to rows that are inserted, in the same transaction."""

    def prepare(self, rows: Sequence[Row]) -> Step:
        """Return what is to be done once these rows are inserted."""
        ...

    def committed(self) -> None:
        """The transaction is over."""
        ...


@dataclass(frozen=True, slots=True)
class _Task:
    """Something to do within a transaction, that waits to be done."""

    step: Step
    done: Callable[[], None]
    count: ClassVar = 0

    def prepare(self) -> list[_Statement | Step]:
        """Return the step."""
        return [self.step]

    def committed(self) -> None:
        """Tell that it is done."""
        self.done()


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows that wait to be inserted, as the values that `make` turns into rows."""

    into: str
    values: Sequence[Any]
    make: Callable[[Sequence[Any]], Sequence[Row]]
    then: InsertedRows | None

    @property
    def count(self) -> int:
        return len(self.values)

    def prepare(self) -> list[_Statement | Step]:
        """Return the statements to carry out, each of which inserts many rows."""
        rows, begin = self.make(self.values), 0
        statements: list[_Statement | Step] = []
        for size in AT_ONCE:
            while begin + size <= len(rows):
                sql = _insertion(self.into, len(rows[begin]), size)
                statements.append((sql, tuple(chain.from_iterable(rows[begin : begin + size]))))
                begin += size
        if self.then is not None:
            statements.append(self.then.prepare(rows))
        return statements

    def committed(self) -> None:
        """Tell that the rows are written."""
        if self.then is not None:
            self.then.committed()


@lru_cache(16)
def _insertion(into: str, columns: int, rows: int) -> str:
    row = f"({', '.join('?' * columns)})"
    values = ", ".join([row] * rows)
    return f"INSERT INTO {into} VALUES {values}"  # noqa: S608 - our own table and question marks


_Work = _Change | _Rows | _Task


class Database:
    """Tables in one file; every method may be called from any thread."""

    def __init__(
        self, path: Path, migrations: Sequence[Migration], *, read_only: bool = False
    ) -> None:
        """Open the file and bring it up to date.

        What is opened `read_only` is left as it is, also by us: an older file is brought up to
        date in memory alone.

        Raises:
            StoreError: It cannot be opened, or is newer than we are.
        """
        self.path = path
        self.is_read_only = read_only
        self.dropped = 0
        self._lock = threading.Lock()
        self._waiting: queue.Queue[_Work | threading.Event | None] = queue.Queue()
        self._given = self._taken = 0
        self._writer: threading.Thread | None = None
        try:
            self._connection = self._look(migrations) if read_only else self._open(migrations)
        except (sqlite3.Error, OSError) as error:
            hint = "mend its rights, or put a copy back with: toolyard doctor --restore"
            raise StoreError(f"cannot open {path} ({error})", hint) from error

    def _open(self, migrations: Sequence[Migration]) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # One at a time: two that made the same table would trip over each other.
        with locked(self.path, OPEN_SECONDS):
            connection = _connect(self.path.absolute().as_uri())
            with _closed_on_error(connection):
                self.path.chmod(0o600)
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=NORMAL")
                self._migrate(connection, migrations)
        return connection

    def _look(self, migrations: Sequence[Migration]) -> sqlite3.Connection:
        connection = _connect_read_only(self.path)
        with _closed_on_error(connection):
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version == len(migrations):
                return connection
            memory = _connect(":memory:")
            connection.backup(memory)
        connection.close()
        with _closed_on_error(memory):
            self._migrate(memory, migrations)
        return memory

    def _migrate(self, connection: sqlite3.Connection, migrations: Sequence[Migration]) -> None:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > len(migrations):
            raise StoreError(f"{self.path} was written by a newer toolyard", "update toolyard")
        for number, migration in enumerate(migrations[version:], version + 1):
            if isinstance(migration, str):
                script = f"BEGIN;{migration};PRAGMA user_version={number};COMMIT;"
                connection.executescript(script)
                continue
            connection.execute("BEGIN IMMEDIATE")
            migration(connection)
            connection.execute(f"PRAGMA user_version={number}")
            connection.execute("COMMIT")

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """All rows of a query."""
        with self._guard():
            return self._connection.execute(sql, values).fetchall()

    def write(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Change something; return how many rows."""
        with self._guard(writes=True):
            return self._connection.execute(sql, values).rowcount

    @contextlib.contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """Several changes that happen together or not at all."""
        with self._guard(writes=True):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def later(self, sql: str, values: Row) -> None:
        """Write soon, from a thread of its own; never blocks, drops rather than grows."""
        self._give(_Change(sql, values))

    def later_do(self, step: Step, done: Callable[[], None] = lambda: None) -> None:
        """Do something soon within a transaction of that thread; `done` hears that it is over."""
        self._give(_Task(step, done))

    def insert_later(
        self,
        into: str,
        values: Sequence[Value],
        make: Callable[[Sequence[Value]], Sequence[Row]],
        then: InsertedRows | None = None,
    ) -> bool:
        """Insert many rows soon; `make` turns values into rows, one each, in the thread.

        `into` is a table with its columns, as in `calls (at, server)`. False if the rows are
        dropped, because too many wait already or nothing can be written.
        """
        return self._give(_Rows(into, values, make, then))

    def _give(self, work: _Work) -> bool:
        if self.is_read_only or self._given - self._taken + work.count > WAITING:
            self.dropped += work.count
            return False
        self._given += work.count
        self._pass_on(work)
        return True

    def settle(self) -> None:
        """Wait until what was given to `later` so far is written, within bounds."""
        if self._writer is not None:
            written = threading.Event()
            self._pass_on(written)
            written.wait(SETTLE_SECONDS)

    def _pass_on(self, item: _Work | threading.Event) -> None:
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
                self.dropped += sum(work.count for work in batch)
                log.warning("rows were not written", extra={"why": str(error)})
            self._taken += sum(work.count for work in batch)
            for waiter in waiters:
                waiter.set()

    def _write(self, batch: list[_Work]) -> None:
        if not batch:
            return
        # What takes long is done before others have to wait for the connection.
        statements = [statement for work in batch for statement in work.prepare()]
        with self.change() as connection:
            for statement in statements:
                if isinstance(statement, tuple):
                    connection.execute(*statement)
                else:
                    statement(connection)
        for work in batch:
            work.committed()

    def _batch(
        self, item: _Work | threading.Event | None
    ) -> tuple[list[_Work], list[threading.Event], bool]:
        """Return what fits into one transaction, its waiters, and whether it is the end."""
        batch: list[_Work] = []
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
    def _guard(self, *, writes: bool = False) -> Iterator[None]:
        if writes and self.is_read_only:
            text = f"nothing can be written: {self.path} could only be opened for reading"
            raise StoreError(text, READ_ONLY_HINT)
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                raise StoreError(f"the database {self.path.name} failed ({error})") from error


def _connect(name: str) -> sqlite3.Connection:
    connection = sqlite3.connect(name, check_same_thread=False, isolation_level=None, uri=True)
    with _closed_on_error(connection):
        for pragma in ("busy_timeout=5000", "foreign_keys=ON", f"cache_size=-{CACHE}"):
            connection.execute(f"PRAGMA {pragma}")
        # SQLite's own `lower` knows ASCII alone.
        connection.create_function("casefold", 1, _casefold, deterministic=True)
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # is it one at all?
    return connection


def _casefold(text: str | None) -> str | None:
    return text.casefold() if text is not None else None


def _connect_read_only(path: Path) -> sqlite3.Connection:
    """Open a file that must not, or cannot, be written.

    SQLite makes two files beside one with a write-ahead log, unless it is told that nobody changes
    it. So it is told where there is no such log, and where it can make none for an empty one.
    """
    address, log_file = f"{path.absolute().as_uri()}?mode=ro", path.with_name(f"{path.name}-wal")
    if not log_file.exists():
        return _connect(f"{address}&immutable=1")
    try:
        return _connect(address)
    except sqlite3.OperationalError:
        if log_file.stat().st_size:
            raise
        return _connect(f"{address}&immutable=1")


@contextlib.contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise
