"""Calls counted for statistics and timelines: in groups, and one by one where there are none."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import Final

from toolyard.features.history.model import Timing
from toolyard.features.history.reading import CallReader
from toolyard.features.history.search import FAILURES
from toolyard.features.history.timeline import Grid, Grouping, TimelineRow
from toolyard.records.call_groups import group_text, read_moments
from toolyard.records.database import Row
from toolyard.records.durations import pack_durations

_TIMING: Final = "server, tool, outcome, ms"
_WHEN: Final = "outcome, moments, durations"


def read_timings(reader: CallReader) -> Iterator[Timing]:
    """Read what statistics are made of."""
    # Of a part that began too early, some calls are wanted and some are not: they are read.
    parts = {part for part, (first, _) in reader.grouped().items() if first >= reader.since}
    doubtful: list[int] = []
    if reader.wanted.text:
        timings, doubtful = _sort_out(reader, parts)
        yield from timings
    else:
        for part, *names, packed in reader.read_groups("server, tool, outcome, durations"):
            if part in parts:
                yield *names, (), packed
    rest = chain(reader.read_ids(_TIMING, doubtful), reader.read(_TIMING, without=parts))
    yield from _count_singles(rest)


def _count_singles(calls: Iterable[Row]) -> Iterator[Timing]:
    times: dict[tuple[str, str, str], list[float]] = {}
    for server, tool, outcome, ms in calls:
        times.setdefault((server, tool, outcome), []).append(ms)
    for names, some in times.items():
        yield *names, some, b""


def _sort_out(reader: CallReader, parts: Collection[int]) -> tuple[list[Timing], list[int]]:
    """Return the groups that match as a whole, and the ids of all other calls, newest first.

    A text may stand in the names, and so in every call of a group, or in the errors of some.
    """
    timings: list[Timing] = []
    doubtful: list[int] = []
    groups = reader.read_groups("server, tool, agent, caller, outcome, durations, ids")
    for part, server, tool, agent, caller, outcome, packed, ids in groups:
        if part not in parts:
            continue
        if reader.wanted.needle in group_text((server, tool, agent, caller)):
            timings.append((server, tool, outcome, (), packed))
        else:
            doubtful += reader.ids_of_group(part, ids)
    return timings, sorted(doubtful, reverse=True)


def read_timeline(reader: CallReader, by: Grouping, grid: Grid) -> Iterator[TimelineRow]:
    """Read what a timeline is made of."""
    parts = reader.grouped()
    alone = {
        part: grid.bucket(first)
        for part, (first, last) in parts.items()
        if first >= reader.since and grid.bucket(first) == grid.bucket(last)
    }
    """The parts that fall into one bucket."""
    for part, name, outcome, moments, packed in reader.read_groups(f"{by}, {_WHEN}"):
        if part in alone:
            yield name, alone[part], outcome in FAILURES, packed
        elif part in parts:
            for bucket, some in _split(grid, reader.since, moments, packed):
                yield name, bucket, outcome in FAILURES, some
    singles: dict[tuple[str, int, bool], list[float]] = {}
    for name, at, outcome, ms in reader.read(f"{by}, at, outcome, ms", without=parts):
        singles.setdefault((name, grid.bucket(at), outcome in FAILURES), []).append(ms)
    for key, times in singles.items():
        yield *key, pack_durations(times)


def _split(grid: Grid, since: float, moments: bytes, packed: bytes) -> Iterator[tuple[int, bytes]]:
    """Give the buckets into which the calls of a group fall, and their durations in each."""
    seconds = read_moments(moments)
    place = bisect_left(seconds, since)
    while place < len(seconds):
        bucket = grid.bucket(seconds[place])
        end = bisect_left(seconds, grid.begin + (bucket + 1) * grid.seconds, place)
        yield bucket, packed[place:end]
        place = end
