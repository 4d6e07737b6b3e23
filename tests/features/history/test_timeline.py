"""Calls are counted along time, in buckets whose edges do not move with the moment of asking."""

from __future__ import annotations

import time

import pytest

from tests.features.history.calls import record
from toolyard.core.errors import ConfigError, LinkError
from toolyard.features.history.call_log import Bounds, CallLog
from toolyard.features.history.search import Search
from toolyard.features.history.store import History
from toolyard.features.history.timeline import (
    MOST_SERIES,
    WIDTHS,
    Grid,
    TimelineRow,
    make_timeline,
)
from toolyard.records.calls import CallRows
from toolyard.records.durations import pack_durations

HOUR = Grid(begin=0, seconds=60, buckets=60)


@pytest.mark.parametrize(
    ("since", "until", "wanted", "grid"),
    [
        (7200, 10_800, 60, Grid(7200, 60, 60)),
        (7205, 10_805, 60, Grid(7200, 60, 61)),
        (0, 86_400, 48, Grid(0, 1800, 48)),
        (100, 100, 60, Grid(100, 1, 1)),
        (100.5, 100.7, 1, Grid(100, 1, 1)),
    ],
)
def test_buckets_begin_at_times_that_people_name(
    since: float, until: float, wanted: int, grid: Grid
) -> None:
    assert Grid.covering(since, until, wanted) == grid


def test_however_long_the_time_there_are_not_more_buckets_than_wanted_and_one() -> None:
    now = 1.8e9
    grid = Grid.covering(0, now, 10)

    assert grid.buckets <= 11
    assert grid.seconds == WIDTHS[-1]
    assert grid.begin + grid.buckets * grid.seconds >= now


def test_calls_errors_and_durations_fall_into_their_buckets() -> None:
    rows: list[TimelineRow] = [
        ("files", 0, False, pack_durations([10.0] * 19)),
        ("files", 0, True, pack_durations([500.0])),
        ("files", 2, False, pack_durations([30.0])),
        ("web", 2, False, pack_durations([87.0])),
    ]

    timeline = make_timeline(HOUR, rows)

    files, web = timeline.series
    assert (files.name, files.calls[:3], files.errors[:3]) == ("files", [20, 0, 1], [1, 0, 0])
    assert (files.p50_ms[:3], files.p95_ms[:3]) == ([10.0, None, 30.0], [10.0, None, 30.0])
    assert (files.all_calls, files.all_errors, files.all_p95_ms) == (21, 1, 30.0)
    assert (web.calls[2], web.all_p50_ms) == (1, 87.0)
    assert timeline.total.calls[:3] == [20, 0, 2]
    assert timeline.total.p95_ms[2] == 87.0
    assert timeline.others is None
    assert len(files.calls) == timeline.buckets == 60


def test_the_busiest_have_a_line_each_and_the_rest_one_together() -> None:
    names = [f"s{number}" for number in range(MOST_SERIES + 3)]
    rows: list[TimelineRow] = [
        (name, 1, False, pack_durations([5.0] * (at + 1))) for at, name in enumerate(names)
    ]

    timeline = make_timeline(HOUR, rows)

    assert [series.name for series in timeline.series] == names[:2:-1]
    assert timeline.others is not None
    assert timeline.others.calls[1] == 1 + 2 + 3
    assert timeline.total.all_calls == sum(range(len(names) + 1))


def test_without_calls_there_are_zeros_and_no_durations() -> None:
    timeline = make_timeline(HOUR, [])

    assert (timeline.series, timeline.total.calls) == ([], [0] * 60)
    assert timeline.total.all_p50_ms is None


def test_a_call_that_began_after_the_question_is_in_the_last_bucket() -> None:
    assert make_timeline(HOUR, [("files", 60, False, pack_durations([1.0]))]).total.calls[-1] == 1


@pytest.mark.parametrize("stride", [2, 10_000])
async def test_the_rows_of_the_database_are_counted_however_they_are_read(
    rows: CallRows, stride: int
) -> None:
    history = History(CallLog(rows, Bounds()), stride)
    now = time.time()
    for ago in (1000, 400, 400, 400):
        record(history, began=time.monotonic() - ago)
    record(history, LinkError("no"), began=time.monotonic() - 400)
    record(history, began=time.monotonic() - 10, server="web", agent="cursor")
    record(history, began=time.monotonic() - 5000)

    timeline = await history.timeline(Search(since=now - 1200), "server", 20, now)

    assert [(series.name, series.all_calls) for series in timeline.series] == [
        ("files", 5),
        ("web", 1),
    ]
    bucket = int((now - 400 - timeline.begin.timestamp()) // timeline.seconds)
    files = timeline.series[0]
    assert sum(files.calls[bucket - 1 : bucket + 2]) == 4
    assert (files.all_errors, sum(files.errors)) == (1, 1)
    assert files.all_p50_ms == 400_000
    agents = await history.timeline(Search(since=now - 1200), "agent", 20, now)
    assert [series.name for series in agents.series] == ["codex", "cursor"]
    only = await history.timeline(Search(server="web", since=now - 1200), "agent", 20, now)
    assert (only.total.all_calls, only.series[0].name) == (1, "cursor")


async def test_what_is_no_longer_kept_is_not_drawn(rows: CallRows) -> None:
    history = History(CallLog(rows, Bounds(days=2)))
    now = time.time()

    timeline = await history.timeline(Search(), "server", 60, now)

    assert now - 3 * 86_400 < timeline.begin.timestamp() <= now - 2 * 86_400 + 10


async def test_without_a_history_there_is_no_timeline() -> None:
    with pytest.raises(ConfigError, match="keeps no history"):
        await History(CallLog(None, Bounds())).timeline(Search(), "server", 60, time.time())
