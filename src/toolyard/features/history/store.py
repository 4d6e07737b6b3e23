"""Questions about calls that are over, answered from the rows of the call log."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from toolyard.core.errors import ConfigError, UnknownNameError
from toolyard.features.history.call_log import CallLog
from toolyard.features.history.counting import read_timeline, read_timings
from toolyard.features.history.model import Call, Outcome, Statistic, statistics
from toolyard.features.history.reading import STRIDE, TEXT_BYTES, CallReader
from toolyard.features.history.search import Search
from toolyard.features.history.timeline import Grid, Grouping, Timeline, make_timeline
from toolyard.records.calls import CallRows
from toolyard.records.database import Row
from toolyard.yard import Yard

_CALL: Final = (
    "id, at, agent, caller, server, tool, ms, asked, answered, outcome, error,"
    " start_ms, person_at_ms, person_ms, {sql.replica}, member, token, address"
)
_STOOD: Final = (
    "SELECT first, last, ordered, lock FROM seals"
    " WHERE log = 'call_log' AND kind = 'rows' AND last >= ? ORDER BY last LIMIT ?"
)
"""Finds what was ordered and locked when calls were written down, by the seals of those."""


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call, with what was kept of its arguments and result as JSON."""

    call: Call
    arguments: bytes | None
    result: bytes | None


@dataclass(frozen=True, slots=True)
class FoundCalls:
    """Calls that match, newest first, and where a search for more goes on."""

    calls: list[Call]
    stopped_at: int | None
    """The oldest call that was looked at, if a text was looked for in too many at once."""


@dataclass(frozen=True, slots=True)
class CountedCalls:
    """What the calls that match say together, from one of them on."""

    statistics: list[Statistic]
    stopped_at: int | None
    """The oldest call that was looked at, if a text was looked for in too many at once."""


class History:
    """The calls in the log, within its bounds; every question waits for a thread."""

    def __init__(self, log: CallLog, stride: int = STRIDE, text_bytes: int = TEXT_BYTES) -> None:
        """Ask a log.

        Args:
            stride: Rows that one query looks at, at most.
            text_bytes: Bytes that one question about a text looks at, at most.
        """
        self.log = log
        self._stride, self._text_bytes = stride, text_bytes

    async def search(self, wanted: Search) -> FoundCalls:
        """Return the calls that match, newest first; of a text, maybe not all that were wanted.

        Raises:
            ConfigError: This hub keeps no history.
        """
        rows = self._settled()
        columns = _CALL.format(sql=rows.sql)

        def read() -> FoundCalls:
            reader = self._reader(rows, wanted)
            calls = [_call(row) for row in reader.read(columns, wanted.limit)]
            stopped_at = reader.stopped_at if len(calls) < wanted.limit else None
            return FoundCalls(_with_revisions(rows, calls), stopped_at)

        return await asyncio.to_thread(read)

    async def statistics(self, wanted: Search) -> CountedCalls:
        """Return what the calls that match say together.

        Raises:
            ConfigError: This hub keeps no history.
        """
        rows = self._settled()

        def read() -> CountedCalls:
            reader = self._reader(rows, wanted)
            counted = statistics(read_timings(reader))
            return CountedCalls(counted, reader.stopped_at)

        return await asyncio.to_thread(read)

    async def timeline(self, wanted: Search, by: Grouping, buckets: int, now: float) -> Timeline:
        """Return the calls that match along time.

        Raises:
            ConfigError: This hub keeps no history.
        """
        rows = self._settled()
        grid = Grid.covering(max(wanted.since, self.log.bounds.oldest), now, buckets)
        whole = replace(wanted, since=float(grid.begin))

        def read() -> Timeline:
            return make_timeline(grid, read_timeline(self._reader(rows, whole), by, grid))

        return await asyncio.to_thread(read)

    async def get(self, id_: int) -> CallRecord:
        """Return one call.

        Raises:
            UnknownNameError: It is not, or no longer, in the history.
            ConfigError: This hub keeps no history.
        """
        rows, wanted = self._settled(), Search(before=id_ + 1)
        columns = f"{_CALL.format(sql=rows.sql)}, arguments, result"
        matches = await asyncio.to_thread(
            lambda: list(self._reader(rows, wanted).read(columns, limit=1))
        )
        if not matches or matches[0][0] != id_:
            text = f"there is no call {id_} in the history"
            raise UnknownNameError(text, "see which there are: toolyard history")
        *row, arguments, result = matches[0]
        (call,) = await asyncio.to_thread(_with_revisions, rows, [_call(tuple(row))])
        return CallRecord(call, _encoded(arguments), _encoded(result))

    def settle(self) -> None:
        """Wait until what was handed over so far is written, within bounds."""
        if self.log.rows is not None:
            self.log.rows.settle()

    def _settled(self) -> CallRows:
        """Hand over what was noted so far, and return the rows it is added to."""
        self.log.flush()
        if self.log.rows is None:
            text = "this hub keeps no history"
            raise ConfigError(text, "set TOOLYARD_HISTORY=on, then run: toolyard restart")
        return self.log.rows

    def _reader(self, rows: CallRows, wanted: Search) -> CallReader:
        return CallReader(rows, wanted, self.log.bounds, self._stride, self._text_bytes)


def parts(yard: Yard) -> Iterable[object]:
    """The history of a running hub; without one nobody notes calls."""
    if CallLog in yard.parts:
        yield History(yard.part(CallLog))


def _call(row: Row) -> Call:
    id_, at, agent, caller, server, tool, ms, asked, answered, outcome, error, *rest = row
    when, who, ended = datetime.fromtimestamp(at, UTC), (agent, caller), Outcome(outcome)
    return Call(id_, when, *who, server, tool, ms, asked, answered, ended, error, *rest)


def _with_revisions(rows: CallRows, calls: list[Call]) -> list[Call]:
    """Add the newest order and the lock file's digest as they were when calls were written down."""
    if not calls:
        return calls
    seals = rows.read(_STOOD, (min(call.id for call in calls), len(calls)))
    stood = [(range(first, last + 1), ordered, lock) for first, last, ordered, lock in seals]

    def add(call: Call) -> Call:
        match = next((seal for seal in stood if call.id in seal[0]), None)
        return replace(call, ordered=match[1], lock=match[2]) if match is not None else call

    return [add(call) for call in calls]


def _encoded(text: str | None) -> bytes | None:
    return text.encode() if text is not None else None
