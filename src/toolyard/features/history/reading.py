"""Calls read newest first: found by their groups where these are made, one by one where not."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

from toolyard.features.history.call_log import BODY_BYTES, Bounds
from toolyard.features.history.search import Search, call_conditions, group_conditions
from toolyard.records.call_groups import read_ids
from toolyard.records.calls import CallRows
from toolyard.records.database import Row

STRIDE: Final = 10_000
"""Rows that one query looks at: between two, others get at the database."""
IDS: Final = 500
"""Ids that one query names."""
FEW: Final = 4
"""Calls are asked for by their ids if they are fewer than one in so many of a part."""
SPAN: Final = 32
"""Parts whose groups one query looks at, at most."""
FIRST_STRIDE: Final = 500
"""Rows that the first query about a text looks at; the following take ever more."""
TEXT_BYTES: Final = 32 * 1024 * 1024
"""Bytes that one question about a text looks at; about 200 ms of CPU."""
ROW_BYTES: Final = 512
"""Bytes that take as long to look at as a call of which no arguments or results are kept."""

_LAST: Final = "SELECT coalesce(max(id), 0) FROM call_log"
_GROUPED: Final = (
    "SELECT part, min(least_at), max(most_at) FROM call_groups"
    " WHERE part >= ? AND part < ? GROUP BY part"
)
_COSTS: Final = f"""
SELECT min(id) FILTER (WHERE total <= ?), coalesce(max(total), 0) FROM (
    SELECT id, sum({ROW_BYTES} + CASE WHEN arguments IS NULL AND result IS NULL THEN 0
        ELSE CASE WHEN asked <= {BODY_BYTES} THEN asked ELSE 0 END
            + CASE WHEN answered <= {BODY_BYTES} THEN answered ELSE 0 END END
    ) OVER (ORDER BY id DESC) AS total
    FROM call_log WHERE at >= ? AND {{among}}
) AS costs
"""  # noqa: S608 - made of our own words
"""Finds the oldest of some calls that may be looked at for so many bytes, and those of all."""


class CallReader:
    """Reads the calls that one question is about; used by one thread."""

    def __init__(
        self,
        rows: CallRows,
        wanted: Search,
        bounds: Bounds,
        stride: int = STRIDE,
        text_bytes: int = TEXT_BYTES,
    ) -> None:
        """Find out where the question begins and ends; waits until what was noted is written."""
        rows.settle()
        ((last,),) = rows.read(_LAST)
        self.wanted = wanted
        self.since = max(wanted.since, bounds.oldest)
        self._rows, self._stride = rows, stride
        self._least = max(last - bounds.rows, 0) + 1
        self._end = min(wanted.before or last + 1, last + 1)
        self._calls = call_conditions(wanted, rows.sql)
        self._groups = group_conditions(wanted, rows.sql)
        self._names = call_conditions(replace(wanted, text=""), rows.sql)
        self._text_bytes = text_bytes
        self.start_over()

    def start_over(self) -> None:
        """Take as many bytes as a question may, again."""
        self._bytes_left = self._text_bytes
        self.stopped_at: int | None = None
        """The oldest call that was looked at, if there was too much to look at all."""

    def read(self, columns: str, limit: int = -1, without: Collection[int] = ()) -> Iterator[Row]:
        """Read the calls that match, newest first, as many at a time as others can wait for.

        Args:
            without: Parts that are not looked at.
        """
        for ids in self._candidates(without):
            for row in self._read_some(columns, ids, limit):
                yield row
                limit -= 1
                if limit == 0:
                    return
            if self.stopped_at is not None:
                return

    def _read_some(self, columns: str, ids: range | list[int], limit: int) -> Iterator[Row]:
        if isinstance(ids, range):
            return self._read_range(columns, ids, limit)
        return self.read_ids(columns, ids, limit)

    def read_ids(self, columns: str, ids: Sequence[int], limit: int = -1) -> Iterator[Row]:
        """Read the calls that match among these, which are given newest first."""
        # Without a text, the groups have told all: each of these matches.
        size = min(IDS, limit) if limit > 0 and not self.wanted.text else IDS
        for begin in range(0, len(ids), size):
            chunk = ids[begin : begin + size]
            yield from self._query(columns, f"id IN ({', '.join('?' * len(chunk))})", chunk, limit)
            if self.stopped_at is not None:
                return

    def _read_range(self, columns: str, ids: range, limit: int) -> Iterator[Row]:
        """Read the calls that match among all between two ids, until these are too old."""
        end, stride = (
            ids.stop,
            min(FIRST_STRIDE, self._stride) if self.wanted.text else self._stride,
        )
        while end > ids.start:
            begin = max(ids.start, end - stride)
            yield from self._query(columns, "id >= ? AND id < ?", (begin, end), limit)
            if self.stopped_at is not None or self._rows.is_first_since(begin, self.since):
                return
            end, stride = begin, min(2 * stride, self._stride)

    def _query(self, columns: str, among: str, ids: Sequence[int], limit: int) -> list[Row]:
        if self.wanted.text and not self._spend(among, ids):
            among, ids = f"{among} AND id >= ?", (*ids, self.stopped_at or 0)
        sql = (  # made of our own words; what people look for are its values
            f"SELECT {columns} FROM call_log"  # noqa: S608 - see above
            f" WHERE {among} AND at >= ?{self._calls.sql} ORDER BY id DESC"
        )
        at_most = f" LIMIT {limit}" if limit > 0 else ""
        return self._rows.read(f"{sql}{at_most}", (*ids, self.since, *self._calls.values))

    def _spend(self, among: str, ids: Sequence[int]) -> bool:
        """Take the bytes of these calls; if too few are left, note where to stop."""
        sql = _COSTS.format(among=f"{among}{self._names.sql}")
        values = (self._bytes_left, self.since, *ids, *self._names.values)
        ((oldest, total),) = self._rows.read(sql, values)
        self._bytes_left -= int(total)
        if self._bytes_left < 0:
            self.stopped_at = oldest if oldest is not None else max(ids) + 1
        return self._bytes_left >= 0

    def grouped(self) -> dict[int, tuple[float, float]]:
        """Return the parts that are in bounds as a whole and have groups.

        With each are the moments at which the first and the last of its calls began.
        """
        parts = self._whole_parts()
        grouped = self._rows.read(_GROUPED, (parts.start, parts.stop))
        return {part: (first, last) for part, first, last in grouped}

    def read_groups(self, columns: str) -> list[Row]:
        """Read the groups of these parts in which calls may match; their part comes first."""
        return self._read_groups(columns, self._whole_parts())

    def ids_of_group(self, part: int, packed: bytes) -> list[int]:
        """Return the ids of a group's calls, which grow."""
        return read_ids(part * self._rows.part, packed)

    def _whole_parts(self) -> range:
        size = self._rows.part
        first = -(-self._least // size) if self._least > 1 else 0
        return range(first, self._end // size)

    def _read_groups(self, columns: str, parts: range) -> list[Row]:
        sql = (  # made of our own words; what people look for are its values
            f"SELECT part, {columns} FROM call_groups"  # noqa: S608 - see above
            f" WHERE part >= ? AND part < ? AND most_at >= ?{self._groups.sql}"
        )
        values = (parts.start, parts.stop, self.since, *self._groups.values)
        return self._rows.read(sql, values)

    def _candidates(self, without: Collection[int]) -> Iterator[range | list[int]]:
        """Give the ids to look at, newest first, until those that remain are too old.

        A range has all ids in between: of a part without groups, or with many calls that may match.
        """
        for parts in self._spans(without):
            matches = self._matches(parts) if self._groups else {}
            ids: list[int] = []
            for part in reversed(parts):
                in_bounds, some = self._ids_of(part), matches.get(part)
                if some is not None and len(some) * FEW < self._rows.part:
                    ids += [id_ for id_ in reversed(some) if id_ in in_bounds]
                    continue
                yield ids
                if self._rows.is_first_since(in_bounds.stop, self.since):
                    return
                yield in_bounds
                ids = []
            yield ids
            if self._rows.is_first_since(parts[0] * self._rows.part, self.since):
                return

    def _spans(self, without: Collection[int]) -> Iterator[Sequence[int]]:
        """Give the parts, newest first, ever more at a time: most questions are soon answered."""
        size, count = self._rows.part, 1
        parts = range(self._least // size, -(-self._end // size))
        left = [part for part in parts if part not in without]
        while left:
            yield left[-count:]
            left, count = left[:-count], min(2 * count, SPAN)

    def _ids_of(self, part: int) -> range:
        """Return the ids of a part that are in bounds."""
        size = self._rows.part
        return range(max(self._least, part * size), min(self._end, (part + 1) * size))

    def _matches(self, parts: Sequence[int]) -> dict[int, list[int]]:
        """Return the ids of the calls that may match, which grow, of each part with groups."""
        around = range(parts[0], parts[-1] + 1)
        grouped = self._rows.read(_GROUPED, (around.start, around.stop))
        matches: dict[int, list[int]] = {part: [] for part, *_ in grouped}
        for part, ids in self._read_groups("ids", around):
            matches.setdefault(part, []).extend(self.ids_of_group(part, ids))
        return {part: sorted(ids) for part, ids in matches.items()}
