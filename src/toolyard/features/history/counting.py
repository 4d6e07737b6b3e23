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


def read_timings(reader: CallReader) -> Iterable[Timing]:
    """Read what statistics are made of."""
    # Of a part that began too early, some calls are wanted and some are not: they are read.
    parts = {part for part, (first, _) in reader.grouped().items() if first >= reader.since}
    if reader.wanted.text:
        return _read_with_text(reader, parts)
    groups = reader.read_groups("server, tool, outcome, durations")
    whole: list[Timing] = [(*names, (), packed) for part, *names, packed in groups if part in parts]
    return chain(whole, _count_singles(reader.read(_TIMING, without=parts)))


def _read_with_text(reader: CallReader, parts: Collection[int]) -> Iterable[Timing]:
    """Read the calls in which a text stands: newest first, if there is too much to look at all."""
    if (sorted_out := _sort_out(reader, parts)) is not None:
        timings, doubtful = sorted_out
        rest = chain(reader.read_ids(_TIMING, doubtful), reader.read(_TIMING, without=parts))
        timings += _count_singles(rest)
        if reader.stopped_at is None:
            return timings
        reader.start_over()
    return _count_singles(reader.read(_TIMING))


def _count_singles(calls: Iterable[Row]) -> Iterator[Timing]:
    times: dict[tuple[str, str, str], list[float]] = {}
    for server, tool, outcome, ms in calls:
        times.setdefault((server, tool, outcome), []).append(ms)
    for names, some in times.items():
        yield *names, some, b""


def _sort_out(reader: CallReader, parts: Collection[int]) -> tuple[list[Timing], list[int]] | None:
    """Return the groups that match as a whole, and the ids of all other calls, newest first.

    A text may stand in the names, and so in every call of a group, or in the errors of some; None
    if it may stand in what was kept of arguments and results.
    """
    timings: list[Timing] = []
    doubtful: list[int] = []
    groups = reader.read_groups("server, tool, agent, caller, outcome, bodies, durations, ids")
    for part, server, tool, agent, caller, outcome, has_bodies, packed, ids in groups:
        if part not in parts:
            continue
        if reader.wanted.needle in group_text((server, tool, agent, caller)):
            timings.append((server, tool, outcome, (), packed))
        elif has_bodies:
            return None
        else:
            doubtful += reader.ids_of_group(part, ids)
    return timings, sorted(doubtful, reverse=True)


def read_timeline(reader: CallReader, by: Grouping, grid: Grid) -> Iterator[TimelineRow]:
    """Read what a timeline is made of."""
    parts = {
        part: _pieces(grid, max(first, reader.since), last)
        for part, (first, last) in reader.grouped().items()
    }
    for part, name, outcome, moments, packed in reader.read_groups(f"{by}, {_WHEN}"):
        if (pieces := parts.get(part)) is None:
            continue
        is_error, seconds = outcome in FAILURES, read_moments(moments)
        place = bisect_left(seconds, reader.since)
        for bucket, edge in pieces:
            end = bisect_left(seconds, edge, place)
            if end > place:
                yield name, bucket, is_error, packed[place:end]
                place = end
    singles: dict[tuple[str, int, bool], list[float]] = {}
    for name, at, outcome, ms in reader.read(f"{by}, at, outcome, ms", without=parts):
        singles.setdefault((name, grid.bucket(at), outcome in FAILURES), []).append(ms)
    for key, times in singles.items():
        yield *key, pack_durations(times)


def _pieces(grid: Grid, first: float, last: float) -> list[tuple[int, float]]:
    """Return the buckets between two moments, each with its end."""
    buckets = range(grid.bucket(first), grid.bucket(last) + 1)
    return [(bucket, grid.begin + (bucket + 1) * grid.seconds) for bucket in buckets]
