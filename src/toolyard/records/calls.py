"""The rows of calls that are over: in the hub's own database, or in one that hubs share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import time
from typing import Any, Final, Protocol, TypeVar

from toolyard.records.database import Database, Row

Value = TypeVar("Value")
DAY_SECONDS: Final = 86400.0

_PRUNE_ROWS: Final = "DELETE FROM call_log WHERE id <= (SELECT max(id) FROM call_log) - ?"
_PRUNE_DAYS: Final = "DELETE FROM call_log WHERE at < ?"
_ENDED: Final = "SELECT at + ms / 1000 FROM call_log WHERE id >= ? ORDER BY id LIMIT 1"


@dataclass(frozen=True, slots=True)
class CallSql:
    """The words of a question about calls that each engine says in its own way."""

    replica: str
    """The hub that served a call."""
    whole: str
    """The largest whole number below `{}`."""
    coarse_ms: str
    """The duration of a call with two digits."""
    text: str
    """A condition: both slots take one text, folded, that stands in a name, an error or a body."""


class CallRows(Protocol):
    """Rows of the table `call_log`; every method may be called from any thread."""

    sql: CallSql

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
        """Remove soon what is beyond so many rows, and what is older than so many days."""
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
        whole="CAST({} AS INTEGER)",
        coarse_ms="CAST(printf('%.1e', ms) AS REAL)",
        text=(
            "(instr(casefold(server || ' ' || tool || ' ' || agent || ' ' || caller || ' ' ||"
            " error), ?) OR instr(casefold(arguments || ' ' || result), ?))"
        ),
    )

    def __init__(self, database: Database) -> None:
        self._database = database
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

        if self._database.insert_later(f"call_log ({', '.join(columns)})", calls, take):
            self._given_bytes += size

    def forget(self, rows: int, days: int | None) -> None:
        """Remove soon what is beyond so many rows, and what is older than so many days."""
        self._database.later(_PRUNE_ROWS, (rows,))
        if days is not None:
            self._database.later(_PRUNE_DAYS, (time() - days * DAY_SECONDS,))

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
