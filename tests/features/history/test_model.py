from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from toolyard.core.errors import ConfigError
from toolyard.features.history.model import Timing, moment, percentile, statistics

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def test_a_servers_line_sums_up_the_lines_of_its_tools() -> None:
    timings: list[Timing] = [("b", "x", "ok", [5.0], b"")]
    timings += [("a", "read", "ok", [float(ms)], b"") for ms in range(1, 101)]
    timings += [("a", "write", "error", [7.0], b""), ("a", "write", "cancelled", [9.0], b"")]

    found = statistics(timings)

    assert [(each.server, each.tool, each.calls) for each in found] == [
        ("a", "", 102),
        ("a", "read", 100),
        ("a", "write", 2),
        ("b", "", 1),
        ("b", "x", 1),
    ]
    assert (found[1].p50_ms, found[1].p95_ms, found[1].error_rate) == (50.0, 95.0, 0.0)
    assert (found[2].errors, found[2].cancelled, found[2].error_rate) == (1, 1, 0.5)
    assert found[0].error_rate == pytest.approx(1 / 102, abs=1e-4)


def test_nothing_called_has_no_statistics() -> None:
    assert statistics([]) == []
    assert percentile([], 95) == 0.0
    assert percentile([3.0], 50) == percentile([3.0], 95) == 3.0


@pytest.mark.parametrize(
    ("text", "ago"),
    [("90s", timedelta(seconds=90)), ("1h", timedelta(hours=1)), ("2d", timedelta(days=2))],
)
def test_a_moment_is_so_long_ago(text: str, ago: timedelta) -> None:
    assert moment(text, NOW) == NOW - ago


def test_a_moment_is_a_time() -> None:
    assert moment("2026-01-30T08:00", NOW) == datetime(2026, 1, 30, 8, tzinfo=UTC)
    assert moment("2026-01-30T08:00+02:00", NOW) == datetime(2026, 1, 30, 6, tzinfo=UTC)


@pytest.mark.parametrize("text", ["yesterday", "h", "-1h", "1.5h", "99999999999d"])
def test_what_is_no_moment_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        moment(text, NOW)

    assert "1h" in caught.value.hint
