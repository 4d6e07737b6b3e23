"""The rows of calls that are over: in the hub's own database, or in one that hubs share."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import time
from typing import Any, Final, Protocol, TypeVar

from toolyard.records.call_groups import PART, CallGroups
from toolyard.records.database import Database, Row, Step
from toolyard.records.seals.chain import LogChain
from toolyard.records.seals.model import RowSpan, sqlite_run

Value = TypeVar("Value")
DAY_SECONDS: Final = 86400.0
TABLE: Final = "call_log"
CALL_COLUMNS: Final = (
    *("at", "agent", "caller", "server", "tool"),
    *("ms", "asked", "answered", "outcome", "error"),
)
"""The columns that every call has a value for."""
MORE_COLUMNS: Final = (
    *("start_ms", "person_at_ms", "person_ms", "member", "token", "address"),
    *("arguments", "result"),
)
"""Those that most calls leave empty."""

_BOUNDS: Final = "SELECT min(id), max(id) FROM call_log"
_YOUNG: Final = "SELECT id FROM call_log WHERE at >= ? ORDER BY id LIMIT 1"
_PRUNE: Final = "DELETE FROM call_log WHERE id <= ?"
_NEWEST: Final = "SELECT max(id) FROM call_log"
_ENDED: Final = "SELECT at + ms / 1000 FROM call_log WHERE id >= ? ORDER BY id LIMIT 1"


@dataclass(frozen=True, slots=True)
class CallSql:
    """The words of a question about calls that each engine says in its own way."""

    replica: str
    """The hub that served a call."""
    find: str
    """The function that tells where in a text another stands; 0 if it does not."""
    text: str
    """A condition: both slots take one text, folded, that stands in a name, an error or a body."""


class CallRows(Protocol):
    """Rows of the table `call_log`; every method may be called from any thread."""

    sql: CallSql
    part: int
    """Ids in a part of the calls that is grouped as a whole."""

    @property
    def dropped(self) -> int:
        """The number of rows that could not be written."""
        ...

    @property
    def waiting_bytes(self) -> int:
        """Bytes of arguments and results among the rows that wait to be written."""
        ...

    def add(
        self,
        columns: Sequence[str],
        calls: Sequence[Value],
        make: Callable[[Sequence[Value]], Sequence[Row]],
        size: int,
    ) -> None:
        """Write rows soon, from a thread of its own; never waits, drops rather than grows.

        Args:
            make: Turns calls into rows, one each, in the thread; it may be asked again.
            size: Bytes of arguments and results among them.
        """
        ...

    def forget(self, rows: int, days: int | None) -> None:
        """Remove soon what is beyond so many rows, and what is older than so many days.

        What stays is grouped, as far as its parts are complete.
        """
        ...

    def group(self) -> None:
        """Group soon what is complete: all of it, after a version that grouped otherwise."""
        ...

    def settle(self) -> None:
        """Wait until what was given so far is written, within bounds."""
        ...

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return all rows of a query, in which `?` stands for a value.

        Raises:
            StoreError: They cannot be read.
        """
        ...

    def is_first_since(self, id_: int, since: float) -> bool:
        """Say whether all calls before this one are older than `since`; raises like `read`."""
        ...


class SqliteCalls:
    """Calls as rows of the hub's own database, in the order in which they ended."""

    sql = CallSql(
        replica="''",
        find="instr",
        text=(
            "(instr(casefold(server || ' ' || tool || ' ' || agent || ' ' || caller || ' ' ||"
            " error), ?) OR instr(casefold(arguments || ' ' || result), ?))"
        ),
    )

    def __init__(self, database: Database, chain: LogChain | None = None, part: int = PART) -> None:
        """Keep calls in a database.

        Args:
            chain: Seals what is written; None if there is no key.
            part: Ids in a part that is grouped as a whole.
        """
        self._database = database
        self._chain = chain
        self.part = part
        self._groups = CallGroups("json_group_array", part)
        self._has_more = False
        """True if another part may be complete."""
        self._given_bytes = self._taken_bytes = 0
        """Bytes of bodies since the start: given to the database, and taken up by its thread."""

    @property
    def dropped(self) -> int:
        """The number of rows that could not be written."""
        return self._database.dropped

    @property
    def waiting_bytes(self) -> int:
        """Bytes of arguments and results among the rows that wait to be written."""
        return self._given_bytes - self._taken_bytes

    def add(
        self,
        columns: Sequence[str],
        calls: Sequence[Value],
        make: Callable[[Sequence[Value]], Sequence[Row]],
        size: int,
    ) -> None:
        """Write rows soon; see `CallRows.add`."""

        def take(values: Sequence[Value]) -> Sequence[Row]:
            self._taken_bytes += size
            return make(values)

        into = f"call_log ({', '.join(columns)})"
        sealing = _Sealing(self._chain, columns) if self._chain is not None else None
        if self._database.insert_later(into, calls, take, sealing):
            self._given_bytes += size

    def forget(self, rows: int, days: int | None) -> None:
        """Remove soon what is beyond the bounds, and group what is complete."""
        oldest = None if days is None else time() - days * DAY_SECONDS
        step = partial(self._forget, rows, oldest)
        self._database.later_do(step, self._chain.committed if self._chain else _do_nothing)
        self.group()

    def group(self) -> None:
        """Group soon what is complete."""
        self._database.later_do(self._group_next, self._go_on)

    def _group_next(self, connection: sqlite3.Connection) -> None:
        self._has_more = self._groups.add_next(sqlite_run(connection))

    def _go_on(self) -> None:
        """Group one more part, in a transaction of its own, so that others go first."""
        if self._has_more:
            self.group()

    def _forget(self, rows: int, oldest: float | None, connection: sqlite3.Connection) -> None:
        """Remove calls from the oldest on, within a transaction.

        Of those that began too long ago, one that ended after a younger call began stays for as
        long as that; a search leaves it out.
        """
        first, last = connection.execute(_BOUNDS).fetchone()
        if first is None:
            return
        floor = last - rows
        if oldest is not None:
            young = connection.execute(_YOUNG, (oldest,)).fetchone()
            floor = max(floor, young[0] - 1 if young else last)
        if floor < first:
            return
        connection.execute(_PRUNE, (floor,))
        run, span = sqlite_run(connection), RowSpan(0, floor)
        self._groups.forget(run, span)
        if self._chain is not None:
            self._chain.forget(run, [span])

    def settle(self) -> None:
        """Wait until what was given so far is written, within bounds."""
        self._database.settle()

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return all rows of a query."""
        return self._database.read(sql, values)

    def is_first_since(self, id_: int, since: float) -> bool:
        """Say whether all calls before this one are older than `since`."""
        rows = self._database.read(_ENDED, (id_,))
        return bool(rows) and rows[0][0] < since


@dataclass(frozen=True, slots=True)
class _Sealing:
    """Seals rows in the transaction that inserts them; see `InsertedRows`."""

    chain: LogChain
    columns: Sequence[str]

    def prepare(self, rows: Sequence[Row]) -> Step:
        """Mark the rows, before others have to wait for the connection."""
        return partial(self._seal, len(rows), self.chain.mark(self.columns, rows))

    def _seal(self, count: int, marks: bytes, connection: sqlite3.Connection) -> None:
        # Nobody else inserts calls, so ids run on from one to the next.
        (last,) = connection.execute(_NEWEST).fetchone()
        self.chain.seal_rows(sqlite_run(connection), last - count + 1, marks)

    def committed(self) -> None:
        """Note the newest seal."""
        self.chain.committed()


def _do_nothing() -> None:
    """Nobody has to know."""
