"""Questions about calls that are over, answered from the rows of the call log."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from toolyard.core.errors import ConfigError, UnknownNameError
from toolyard.features.history.call_log import CallLog
from toolyard.features.history.model import Call, Outcome, Statistic, Timing, statistics
from toolyard.features.history.timeline import Grid, Grouping, Timeline, make_timeline
from toolyard.records.calls import CallRows
from toolyard.records.database import Row
from toolyard.yard import Yard

FAILED: Final = "failed"
"""Stands for every outcome that is an error, in a search."""
STRIDE: Final = 10_000
"""Rows that one query looks at: between two, others get at the database."""

_CALL: Final = (
    "id, at, agent, caller, server, tool, ms, asked, answered, outcome, error,"
    " start_ms, person_at_ms, person_ms, {sql.replica}"
)
_TIMING: Final = "server, tool, outcome, ms"
_ALIKE: Final = "{by}, {bucket}, {sql.coarse_ms}, outcome IN ('error', 'tool-error'), count(*)"
"""Has the database count calls of one bucket, duration and end: two digits of a duration are enough
for a picture, and most calls share them."""
_GROUPED: Final = " GROUP BY 1, 2, 3, 4"
_NEWEST: Final = " ORDER BY id DESC"
_LAST: Final = "SELECT coalesce(max(id), 0) FROM call_log"


@dataclass(frozen=True, slots=True)
class Search:
    """The calls to find; what is empty matches all."""

    server: str = ""
    tool: str = ""
    agent: str = ""
    """The name that the client gave itself."""
    caller: str = ""
    """The name of the token it came with."""
    outcome: str = ""
    """One of the outcomes, or `failed` for both kinds of errors."""
    text: str = ""
    """Stands in a name, in the error, or in what was kept of arguments and result."""
    since: float = 0.0
    before: int = 0
    """Only calls with a smaller id: the last one of the page before."""
    limit: int = 50


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call, with what was kept of its arguments and result as JSON."""

    call: Call
    arguments: bytes | None
    result: bytes | None


class History:
    """The calls in the log, within its bounds; every question waits for a thread."""

    def __init__(self, log: CallLog, stride: int = STRIDE) -> None:
        self.log = log
        self._stride = stride

    async def search(self, wanted: Search) -> list[Call]:
        """Return the calls that match, newest first.

        Raises:
            ConfigError: This hub keeps no history.
        """
        rows = self._settled()
        columns = _CALL.format(sql=rows.sql)
        return await asyncio.to_thread(
            lambda: [_call(row) for row in self._read(rows, columns, wanted, wanted.limit)]
        )

    async def statistics(self, wanted: Search) -> list[Statistic]:
        """Return what the calls that match say together.

        Raises:
            ConfigError: This hub keeps no history.
        """
        rows = self._settled()
        return await asyncio.to_thread(
            lambda: statistics(Timing(*row) for row in self._read(rows, _TIMING, wanted))
        )

    async def timeline(self, wanted: Search, by: Grouping, buckets: int, now: float) -> Timeline:
        """Return the calls that match along time.

        Raises:
            ConfigError: This hub keeps no history.
        """
        rows = self._settled()
        grid = Grid.covering(max(wanted.since, self.log.bounds.oldest), now, buckets)
        bucket = rows.sql.whole.format(f"(at - {grid.begin}) / {grid.seconds}")
        columns = _ALIKE.format(by=by, bucket=bucket, sql=rows.sql)
        whole = replace(wanted, since=float(grid.begin))
        return await asyncio.to_thread(
            lambda: make_timeline(grid, self._read(rows, columns, whole, order=_GROUPED))
        )

    async def get(self, id_: int) -> CallRecord:
        """Return one call.

        Raises:
            UnknownNameError: It is not, or no longer, in the history.
            ConfigError: This hub keeps no history.
        """
        rows, wanted = self._settled(), Search(before=id_ + 1)
        columns = f"{_CALL.format(sql=rows.sql)}, arguments, result"
        matches = await asyncio.to_thread(lambda: list(self._read(rows, columns, wanted, 1)))
        if not matches or matches[0][0] != id_:
            text = f"there is no call {id_} in the history"
            raise UnknownNameError(text, "see which there are: toolyard history")
        *call, arguments, result = matches[0]
        return CallRecord(_call(tuple(call)), _encoded(arguments), _encoded(result))

    def _settled(self) -> CallRows:
        """Hand over what was noted so far, and return the rows it is added to."""
        self.log.flush()
        if self.log.rows is None:
            text = "this hub keeps no history"
            raise ConfigError(text, "set TOOLYARD_HISTORY=on, then run: toolyard restart")
        return self.log.rows

    def _read(
        self, rows: CallRows, columns: str, wanted: Search, limit: int = -1, order: str = _NEWEST
    ) -> Iterator[Row]:
        """Read the rows that match, newest first, as many at a time as others can wait for.

        Rows are grouped within each of these parts, so a group may come more than once.
        """
        rows.settle()
        ((last,),) = rows.read(_LAST)
        since = max(wanted.since, self.log.bounds.oldest)
        least = max(last - self.log.bounds.rows, 0) + 1
        conditions, values = _conditions(wanted, rows.sql.text)
        sql = (  # made of our own words; what people look for are its values
            f"SELECT {columns} FROM call_log"  # noqa: S608 - see above
            f" WHERE id >= ? AND id < ? AND at >= ?{conditions}{order}"
        )
        end = min(wanted.before or last + 1, last + 1)
        while end > least and limit != 0:
            begin = max(least, end - self._stride)
            at_most = f" LIMIT {limit}" if limit > 0 else ""
            matches = rows.read(f"{sql}{at_most}", (begin, end, since, *values))
            yield from matches
            if rows.is_first_since(begin, since):
                return
            limit, end = (limit - len(matches) if limit > 0 else limit), begin


def parts(yard: Yard) -> Iterable[object]:
    """The history of a running hub; without one nobody notes calls."""
    if CallLog in yard.parts:
        yield History(yard.part(CallLog))


def _conditions(wanted: Search, has_text: str) -> tuple[str, list[str]]:
    """Make SQL of what is wanted, and the values it refers to."""
    conditions, values = "", []
    for column in ("server", "tool", "agent", "caller", "outcome"):
        value = getattr(wanted, column)
        if column == "outcome" and value == FAILED:
            conditions += " AND outcome IN (?, ?)"
            values += [str(Outcome.ERROR), str(Outcome.TOOL_ERROR)]
        elif value:
            conditions += f" AND {column} = ?"
            values.append(value)
    if wanted.text:
        conditions += f" AND {has_text}"
        values += [wanted.text.casefold()] * 2
    return conditions, values


def _call(row: Row) -> Call:
    id_, at, agent, caller, server, tool, ms, asked, answered, outcome, error, *rest = row
    when, who, ended = datetime.fromtimestamp(at, UTC), (agent, caller), Outcome(outcome)
    return Call(id_, when, *who, server, tool, ms, asked, answered, ended, error, *rest)


def _encoded(text: str | None) -> bytes | None:
    return text.encode() if text is not None else None
