"""Calls of all hubs in a shared database: copied in batches into a table for each day.

Calls wait in memory while the database is away, within bounds; nobody waits for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from time import time
from typing import Any, Final, Protocol, TypeVar

from psycopg import sql

from toolyard.core.errors import StoreError
from toolyard.records.call_groups import PART, CallGroups
from toolyard.records.calls import DAY_SECONDS, TABLE, CallSql
from toolyard.records.database import Row
from toolyard.records.postgres.connections import Connection, Connections, postgres_run
from toolyard.records.postgres.outbox import Outbox
from toolyard.records.postgres.shared import SharedDatabase
from toolyard.records.seals.chain import LogChain
from toolyard.records.seals.model import RowSpan

Value = TypeVar("Value")
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
_FLOOR: Final = "SELECT min(id), max(id) FROM call_log"
_PRUNE: Final = "DELETE FROM call_log WHERE id <= %s"
_SEALING: Final = (
    "SELECT pg_advisory_xact_lock(hashtextextended('seals of ' || current_schema(), 0))"
)
"""Whoever seals calls, or forgets them, does so alone: a chain has one end."""
_IDS: Final = "SELECT nextval('call_ids') FROM generate_series(1, %s)"
_SPANS: Final = """
SELECT min(id), max(id) FROM (SELECT id, id - row_number() OVER (ORDER BY id) AS run FROM {}) AS ids
GROUP BY run
"""
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
        find="strpos",
        # Which letters are the same depends on how a database was set up, so texts that are more
        # than ASCII are folded by us; see `_folded`.
        text=(
            "(position(? IN coalesce(folded, lower(concat_ws(' ', server, tool, agent, caller,"
            ' error) COLLATE "C"))) > 0 OR position(? IN coalesce(folded,'
            " lower(concat_ws(' ', arguments, result) COLLATE \"C\"))) > 0)"
        ),
    )

    def __init__(
        self,
        database: SharedDatabase,
        replica: str,
        chain: LogChain | None = None,
        part: int = PART,
    ) -> None:
        """Write calls as one of the hubs.

        Args:
            replica: The name under which this hub writes.
            chain: Seals what is written; None if there is no key.
            part: Ids in a part that is grouped as a whole.
        """
        self._database, self._replica, self._chain = database, replica, chain
        self.part = part
        # A hub of an older version may write the ids it took a while later.
        self._groups = CallGroups("json_agg", part, margin=part)
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
        rows = _Rows(self._replica, columns, len(calls), size, lambda: make(calls), self._chain)
        try:
            self._outbox.add(rows, len(calls))
        except StoreError:
            self._beyond += len(calls)
        else:
            self._given_bytes += size

    def forget(self, rows: int, days: int | None) -> None:
        """Remove soon what is beyond so many rows, and the tables of days that are over."""
        try:
            self._outbox.add(_Forgetting(rows, days, self._chain, self._groups))
        except StoreError:
            return  # too much waits: the next order to forget comes with the next calls
        self.group()

    def group(self) -> None:
        """Group soon what is complete, unless too much waits; then it is done with later calls."""
        with suppress(StoreError):
            self._outbox.add(_Grouping(self._groups, self.group))

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
            # As text, bytes would come as hexadecimal digits, and groups are bytes above all.
            return connection.execute(
                query.encode(), [_plain(value) for value in values], binary=True
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
        if self._chain is not None:
            self._chain.committed()
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
    chain: LogChain | None

    def carry_out(self, connection: Connection) -> None:
        """Copy the calls, each into the table of its day."""
        rows = [tuple(map(_plain, row)) for row in self.make()]
        at = self.columns.index("at")
        _make_days(connection, {*(row[at] for row in rows), time() + DAY_SECONDS})
        marks = b""
        if self.chain is not None:
            columns = (*self.columns, "replica")
            marks = self.chain.mark(columns, [(*row, self.replica) for row in rows])
            connection.execute(_SEALING)
        ids = _take_ids(connection, len(rows))
        into = sql.SQL("COPY call_log (id, replica, folded, {}) FROM STDIN").format(
            sql.SQL(", ").join(map(sql.Identifier, self.columns))
        )
        with connection.cursor().copy(into) as copy:
            for id_, row in zip(ids, rows, strict=True):
                folded = _folded(dict(zip(self.columns, row, strict=True)))
                copy.write_row((id_, self.replica, folded, *row))
        if self.chain is not None:
            self.chain.seal_rows(postgres_run(connection), ids[0], marks)


@dataclass(frozen=True, slots=True)
class _Forgetting:
    """An order to remove what is beyond the bounds."""

    rows: int
    days: int | None
    chain: LogChain | None
    groups: CallGroups
    size: int = 0
    count: int = 0

    def carry_out(self, connection: Connection) -> None:
        """Drop the tables of days that are over by the database's clock, and what is too much."""
        if self.chain is not None:
            connection.execute(_SEALING)
        spans = self._drop_days(connection)
        first, last = connection.execute(_FLOOR).fetchone() or (None, None)
        if first is not None and first <= last - self.rows:
            connection.execute(_PRUNE, (last - self.rows,))
            spans.append(RowSpan(0, last - self.rows))
        run = postgres_run(connection)
        for span in spans:
            self.groups.forget(run, span)
        if spans and self.chain is not None:
            self.chain.forget(run, spans)

    def _drop_days(self, connection: Connection) -> list[RowSpan]:
        """Drop the tables of days that are over, and return which calls were in them."""
        spans: list[RowSpan] = []
        if self.days is None:
            return spans
        for (name,) in connection.execute(_OLD, (self.days,)).fetchall():
            table = sql.Identifier(name)
            gone = connection.execute(sql.SQL(_SPANS).format(table)).fetchall()
            spans += [RowSpan(first, last) for first, last in gone]
            connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(table))
        return spans


@dataclass(frozen=True, slots=True)
class _Grouping:
    """An order to group the next part that is complete."""

    groups: CallGroups
    go_on: Callable[[], None]
    size: int = 0
    count: int = 0

    def carry_out(self, connection: Connection) -> None:
        """Group a part, and ask for the next."""
        if self.groups.add_next(postgres_run(connection)):
            self.go_on()


def _take_ids(connection: Connection, count: int) -> list[int]:
    """Return ids for so many calls, one after the other.

    A hub of an older version takes its ids while it copies, so some may lie between: then others
    are taken, and those stay unused.
    """
    while True:
        ids = sorted(id_ for (id_,) in connection.execute(_IDS, (count,)).fetchall())
        if ids[-1] - ids[0] == count - 1:
            return ids


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
