"""Calls of all hubs in a shared database: copied in batches into a table for each day.

Calls wait in memory while the database is away, within bounds; nobody waits for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from time import time
from typing import Any, Final, Protocol, TypeVar

from psycopg import sql

from toolyard.core.errors import StoreError
from toolyard.records.calls import DAY_SECONDS, CallSql
from toolyard.records.database import Row
from toolyard.records.postgres.connections import Connection, Connections
from toolyard.records.postgres.outbox import Outbox
from toolyard.records.postgres.shared import SharedDatabase

Value = TypeVar("Value")
TABLE: Final = "call_log"
_NAMES: Final = ("server", "tool", "agent", "caller", "error")
_BODIES: Final = ("arguments", "result")
_MISSING: Final = "SELECT day FROM unnest(%s::text[]) AS day WHERE to_regclass(day) IS NULL"
_ALONE: Final = "SELECT pg_advisory_xact_lock(hashtextextended('days of ' || current_schema(), 0))"
_MAKE: Final = "CREATE TABLE IF NOT EXISTS {} PARTITION OF call_log FOR VALUES FROM ({}) TO ({})"
_OLD: Final = """
SELECT relname FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
WHERE inhparent = to_regclass('call_log')
AND relname < 'call_log_' || to_char(now() AT TIME ZONE 'UTC' - %s * interval '1 day', 'YYYY_MM_DD')
"""
_PRUNE: Final = "DELETE FROM call_log WHERE id <= (SELECT max(id) FROM call_log) - %s"
_OLDER: Final = "SELECT 1 FROM call_log WHERE id < ? AND at >= ? LIMIT 1"


class _Work(Protocol):
    """Something to carry out in the thread that writes."""

    @property
    def size(self) -> int:
        """Bytes of arguments and results in it."""
        ...

    @property
    def count(self) -> int:
        """The number of calls in it."""
        ...

    def carry_out(self, connection: Connection) -> None:
        """Do it, within a transaction."""
        ...


class SharedCalls:
    """Calls as rows of a database that hubs share; see `CallRows`.

    Ids grow in the order in which calls are written. That is nearly the one in which they ended:
    a hub that was cut off writes late.
    """

    sql = CallSql(
        replica="replica",
        whole="CAST(floor({}) AS bigint)",
        coarse_ms="CAST(to_char(ms, '9.9EEEE') AS double precision)",
        # Which letters are the same depends on how a database was set up, so texts that are more
        # than ASCII are folded by us; see `_folded`.
        text=(
            "(position(? IN coalesce(folded, lower(concat_ws(' ', server, tool, agent, caller,"
            ' error) COLLATE "C"))) > 0 OR position(? IN coalesce(folded,'
            " lower(concat_ws(' ', arguments, result) COLLATE \"C\"))) > 0)"
        ),
    )

    def __init__(self, database: SharedDatabase, replica: str) -> None:
        """Args: `replica` is the name under which this hub writes."""
        self._database, self._replica = database, replica
        # One to write and one for questions: neither may keep orders waiting.
        self._connections = Connections(database.connections.address, most=2)
        self._outbox = Outbox[_Work](self._carry_out, self._refuse)
        self._beyond = self._refused = 0
        """Calls that were dropped: because too many waited, and because they were refused."""
        self._given_bytes = self._done_bytes = 0
        database.on_close(self.close)

    @property
    def dropped(self) -> int:
        """The number of rows that could not be written."""
        return self._beyond + self._refused

    @property
    def waiting_bytes(self) -> int:
        """Bytes of arguments and results among the rows that wait to be written."""
        return self._given_bytes - self._done_bytes

    def add(
        self,
        columns: Sequence[str],
        calls: Sequence[Value],
        make: Callable[[Sequence[Value]], Sequence[Row]],
        size: int,
    ) -> None:
        """Write rows soon; see `CallRows.add`."""
        rows = _Rows(self._replica, columns, len(calls), size, lambda: make(calls))
        try:
            self._outbox.add(rows, len(calls))
        except StoreError:
            self._beyond += len(calls)
        else:
            self._given_bytes += size

    def forget(self, rows: int, days: int | None) -> None:
        """Remove soon what is beyond so many rows, and the tables of days that are over."""
        try:
            self._outbox.add(_Forgetting(rows, days))
        except StoreError:
            return  # too much waits: the next order to forget comes with the next calls

    def settle(self) -> None:
        """Wait until what was given so far is written, within bounds; not while that cannot be."""
        self._outbox.settle(while_away=False)

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return all rows of a query, in which `?` stands for a value.

        Raises:
            DatabaseAwayError: The database does not answer.
            StoreError: It refuses.
        """
        query = sql.replace("%", "%%").replace("?", "%s")
        with self._database.transaction(self._connections) as connection:
            return connection.execute(
                query.encode(), [_plain(value) for value in values]
            ).fetchall()

    def is_first_since(self, id_: int, since: float) -> bool:
        """Say whether all calls before this one are older than `since`."""
        return not self.read(_OLDER, (id_, since))

    def close(self) -> None:
        """Write what waits, if the database answers, and close the connections."""
        self._outbox.close()
        self._connections.close()

    def _carry_out(self, items: Sequence[_Work]) -> int:
        with self._database.transaction(self._connections) as connection:
            for item in items:
                item.carry_out(connection)
        self._done_bytes += sum(item.size for item in items)
        return 0

    def _refuse(self, item: _Work) -> None:
        self._refused += item.count
        self._done_bytes += item.size


@dataclass(frozen=True, slots=True)
class _Rows:
    """Calls that wait to be written."""

    replica: str
    columns: Sequence[str]
    count: int
    size: int
    make: Callable[[], Sequence[Row]]

    def carry_out(self, connection: Connection) -> None:
        """Copy the calls, each into the table of its day."""
        rows = [tuple(map(_plain, row)) for row in self.make()]
        at = self.columns.index("at")
        _make_days(connection, {*(row[at] for row in rows), time() + DAY_SECONDS})
        into = sql.SQL("COPY call_log (replica, folded, {}) FROM STDIN").format(
            sql.SQL(", ").join(map(sql.Identifier, self.columns))
        )
        with connection.cursor().copy(into) as copy:
            for row in rows:
                folded = _folded(dict(zip(self.columns, row, strict=True)))
                copy.write_row((self.replica, folded, *row))


@dataclass(frozen=True, slots=True)
class _Forgetting:
    """An order to remove what is beyond the bounds."""

    rows: int
    days: int | None
    size: int = 0
    count: int = 0

    def carry_out(self, connection: Connection) -> None:
        """Drop the tables of days that are over by the database's clock, and what is too much."""
        if self.days is not None:
            for (name,) in connection.execute(_OLD, (self.days,)).fetchall():
                connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier(name)))
        connection.execute(_PRUNE, (self.rows,))


def _make_days(connection: Connection, moments: Iterable[float]) -> None:
    """Make the tables of the days of these moments, if there are none."""
    days = {_day(moment): moment for moment in moments}
    missing = connection.execute(_MISSING, (list(days),)).fetchall()
    if not missing:
        return
    connection.execute(_ALONE)
    for (name,) in missing:
        begin = days[name] // DAY_SECONDS * DAY_SECONDS
        bounds = sql.Literal(begin), sql.Literal(begin + DAY_SECONDS)
        connection.execute(sql.SQL(_MAKE).format(sql.Identifier(name), *bounds))


def _day(moment: float) -> str:
    return f"{TABLE}_{datetime.fromtimestamp(moment, UTC):%Y_%m_%d}"


def _plain(value: Any) -> Any:
    """Return a value that the database takes: no NUL in texts, no half characters."""
    if not isinstance(value, str) or (value.isascii() and "\0" not in value):
        return value
    return value.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


def _folded(call: dict[str, Any]) -> str | None:
    """Return all texts of a call as they are searched; None if they are ASCII."""
    texts = [call.get(name) or "" for name in (*_NAMES, *_BODIES)]
    return None if all(map(str.isascii, texts)) else " ".join(texts).casefold()
