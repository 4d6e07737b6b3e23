"""Calls along time: how many, how many failed and how long they took, in buckets of equal width."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil
from typing import Final, Literal

from msgspec import Struct

from toolyard.records.durations import find_percentiles

MOST_BUCKETS: Final = 240
MOST_SERIES: Final = 8
"""Servers or clients that have a line of their own; more would be no picture."""
WIDTHS: Final = (
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800),
    *(3600, 7200, 10_800, 21_600, 43_200, 86_400, 604_800),
)
"""Seconds that a bucket may be wide, so that its edges are times that people name."""

Grouping = Literal["server", "agent"]
"""One line for each of these."""


class CallSeries(Struct, frozen=True):
    """The calls of one server or client, bucket by bucket."""

    name: str
    """Empty for all calls together, and for clients that do not say who they are."""
    calls: list[int]
    errors: list[int]
    """Of the tool or of the server; cancelled calls are no errors."""
    p50_ms: list[float | None]
    """Null where nothing was called. Durations are rounded by 6 % at most."""
    p95_ms: list[float | None]
    all_calls: int
    all_errors: int
    all_p50_ms: float | None
    all_p95_ms: float | None


class Timeline(Struct, frozen=True):
    """Calls since a moment; all lists have as many members as there are buckets."""

    begin: datetime
    """The beginning of the first bucket."""
    seconds: int
    """The width of a bucket."""
    buckets: int
    total: CallSeries
    series: list[CallSeries]
    """The busiest servers or clients."""
    others: CallSeries | None
    """All the rest together, if there is any."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Buckets of equal width, whose edges do not depend on the moment of asking."""

    begin: int
    """Seconds since 1970."""
    seconds: int
    buckets: int

    @classmethod
    def covering(cls, since: float, until: float, wanted: int) -> Grid:
        """Return so many buckets or fewer, and one for what an edge cuts off.

        What lies too far back for the widest of them is left out.
        """
        longest = WIDTHS[-1] * wanted
        since = max(since, until - longest)
        width = next(width for width in WIDTHS if width * wanted >= until - since)
        begin = int(since // width) * width
        return cls(begin, width, max(1, ceil((until - begin) / width)))

    def bucket(self, moment: float) -> int:
        """Return the bucket of a moment; the last may be asked for what lies after it."""
        return int((moment - self.begin) // self.seconds)


class Tally:
    """The calls that fell into one bucket."""

    __slots__ = ("_packed", "errors")

    def __init__(self) -> None:
        self._packed: list[bytes] = []
        """How long they took; see `records/durations.py`."""
        self.errors = 0

    def add(self, packed: bytes, is_error: bool) -> None:
        """Count calls that ended alike."""
        self._packed.append(packed)
        self.errors += len(packed) if is_error else 0

    def include(self, other: Tally) -> None:
        """Count all that another has counted."""
        self._packed += other._packed
        self.errors += other.errors

    @property
    def calls(self) -> int:
        """The number of calls."""
        return sum(map(len, self._packed))

    def percentiles(self) -> tuple[float | None, float | None]:
        """Return the median and the 95th percentile; None without calls."""
        if not self.calls:
            return None, None
        p50, p95 = find_percentiles(b"".join(self._packed), 50, 95)
        return p50, p95


TimelineRow = tuple[str, int, bool, bytes]
"""Name and bucket of calls, whether they are errors, and how long they took."""
Tallies = Mapping[int, Tally]
"""By bucket."""


def make_timeline(grid: Grid, rows: Iterable[TimelineRow], most: int = MOST_SERIES) -> Timeline:
    """Return what the rows say, with a line for each of the busiest names."""
    by_name: defaultdict[str, defaultdict[int, Tally]] = defaultdict(lambda: defaultdict(Tally))
    last = grid.buckets - 1
    for name, bucket, is_error, packed in rows:
        by_name[name][bucket if 0 <= bucket <= last else last].add(packed, is_error)
    busiest = sorted(by_name, key=lambda name: (-_total(by_name[name]).calls, name))
    rest = _together(by_name[name] for name in busiest[most:])
    return Timeline(
        datetime.fromtimestamp(grid.begin, UTC),
        grid.seconds,
        grid.buckets,
        _series("", _together(by_name.values()), grid),
        [_series(name, by_name[name], grid) for name in busiest[:most]],
        _series("", rest, grid) if rest else None,
    )


def _series(name: str, tallies: Tallies, grid: Grid) -> CallSeries:
    nothing, total = Tally(), _total(tallies)
    buckets = [tallies.get(bucket, nothing) for bucket in range(grid.buckets)]
    percentiles = [tally.percentiles() for tally in buckets]
    return CallSeries(
        name,
        [tally.calls for tally in buckets],
        [tally.errors for tally in buckets],
        [p50 for p50, _ in percentiles],
        [p95 for _, p95 in percentiles],
        total.calls,
        total.errors,
        *total.percentiles(),
    )


def _total(tallies: Tallies) -> Tally:
    total = Tally()
    for tally in tallies.values():
        total.include(tally)
    return total


def _together(groups: Iterable[Tallies]) -> dict[int, Tally]:
    together: defaultdict[int, Tally] = defaultdict(Tally)
    for tallies in groups:
        for bucket, tally in tallies.items():
            together[bucket].include(tally)
    return together
