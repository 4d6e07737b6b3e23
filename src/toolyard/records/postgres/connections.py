"""Connections to PostgreSQL: a few for orders, opened when one is needed and kept for the next."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus

from toolyard.core.errors import ConfigError, DatabaseAwayError, StoreError
from toolyard.records.database import Row
from toolyard.records.seals.model import Run

Connection = psycopg.Connection[tuple[Any, ...]]

MOST: Final = 4
"""Connections for orders; orders are rare, and one at a time gets through anyway."""
WAIT_SECONDS: Final = 10.0
"""Time that an order waits for one of them."""
STATEMENT_TIMEOUT: Final = "10s"
_DEFAULTS: Final = {
    # After a fail-over, the host that takes orders is found again among several.
    "target_session_attrs": "read-write",
    "connect_timeout": "3",
    "application_name": "toolyard",
    # Else text comes as bytes from a database without an encoding (SQL_ASCII).
    "client_encoding": "UTF8",
    # A host that vanished is noticed within seconds, not within the hours of the system.
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
_AWAY_HINT: Final = "calls go on; repeat the order once the database answers"
_CUT_HINT: Final = "look whether the order was carried out before you repeat it"


class Connections:
    """Connections to one database; every method may be called from any thread."""

    def __init__(self, address: str, most: int = MOST) -> None:
        """Connect to nothing yet.

        Raises:
            ConfigError: The address cannot be understood.
        """
        try:
            fields = {**_DEFAULTS, **conninfo_to_dict(address)}
        except psycopg.ProgrammingError:  # its text may have the password in it
            text = "TOOLYARD_DATABASE cannot be understood"
            raise ConfigError(text, "write it as postgresql://USER@HOST/DATABASE") from None
        self.address = make_conninfo("", **fields)
        """All that libpq needs; it may hold a password."""
        self.name = (
            f"{fields.get('dbname', 'the default one')} at {fields.get('host', 'this host')}"
        )
        """The database as messages have it."""
        self._idle: queue.LifoQueue[Connection] = queue.LifoQueue()
        self._places = threading.BoundedSemaphore(most)
        self._is_closed = False

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Several statements that are carried out together or not at all.

        Raises:
            DatabaseAwayError: The database does not answer, or went away meanwhile.
            StoreError: It refuses.
        """
        if not self._places.acquire(timeout=WAIT_SECONDS):
            raise DatabaseAwayError(f"the database {self.name} is too slow", _AWAY_HINT)
        try:
            with self._translated("cannot be reached", _AWAY_HINT):
                connection = self._take()
            try:
                with (
                    self._translated("went away during the order", _CUT_HINT),
                    connection.transaction(),
                ):
                    yield connection
            finally:
                self._give_back(connection)
        finally:
            self._places.release()

    def close(self) -> None:
        """Close all: what is in use, for a thread may still write, as soon as it is not."""
        self._is_closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        while True:
            try:
                self._idle.get_nowait().close()
            except queue.Empty:
                return

    def _take(self) -> Connection:
        """Return a connection that answers: one that is kept, or a new one."""
        while True:
            try:
                connection = self._idle.get_nowait()
            except queue.Empty:
                # Prepared statements would tie a session to its server behind a pooler.
                return psycopg.connect(self.address, autocommit=True, prepare_threshold=None)
            try:
                connection.execute("SELECT 1")
            except psycopg.Error:  # the server was restarted
                connection.close()
            else:
                return connection

    def _give_back(self, connection: Connection) -> None:
        if connection.info.transaction_status is TransactionStatus.IDLE:
            self._idle.put(connection)
        else:
            connection.close()
        if self._is_closed:
            self._close_idle()

    @contextmanager
    def _translated(self, what: str, hint: str) -> Iterator[None]:
        try:
            yield
        except (
            psycopg.OperationalError,
            psycopg.InterfaceError,
            psycopg.errors.ReadOnlySqlTransaction,
        ) as error:
            raise DatabaseAwayError(
                f"the database {self.name} {what} ({first_line(error)})", hint
            ) from error
        except psycopg.Error as error:
            text = f"the database {self.name} refused an order ({first_line(error)})"
            raise StoreError(text, "see its log; the order was not carried out") from error


def postgres_run(connection: Connection) -> Run:
    """Return what carries out statements with `?` for a value, over one connection."""

    def run(sql: str, values: Sequence[Any]) -> list[Row]:
        query = sql.replace("%", "%%").replace("?", "%s")
        cursor = connection.execute(query.encode(), values)
        return cursor.fetchall() if cursor.description is not None else []

    return run


def first_line(error: BaseException) -> str:
    """Return what a driver says, without the query and the advice that may follow."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:300]
