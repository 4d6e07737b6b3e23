"""A window never lets more pass in its time than it says, and tells when something leaves it."""

from __future__ import annotations

import random

import pytest

from toolyard.features.limits.counters import MOST, OTHERS, LimitCounters
from toolyard.features.limits.gauges import Figure, GaugeKey
from toolyard.features.limits.windows import SLICES, Window


@pytest.mark.parametrize("seed", range(5))
def test_no_stretch_of_time_has_more_than_allowed(seed: int) -> None:
    choose, window, now = random.Random(seed), Window(10.0), 1000.0
    passed: list[float] = []
    for _ in range(3000):
        now += choose.expovariate(40)
        if window.used(now) < 100:
            window.add(now, 1)
            passed.append(now)
    in_any = max(sum(start <= at < start + 10.0 for at in passed) for start in passed)
    assert in_any == 100
    # What is old leaves it: as many pass as the time is long, but for one slice in each.
    assert len(passed) >= 100 * (now - 1000.0) / 10.0 * SLICES / (SLICES + 2) - 100


def test_whoever_waits_as_long_as_told_may_pass() -> None:
    choose, window, now = random.Random(7), Window(60.0), 0.0
    for _ in range(200):
        while window.used(now) < 10:
            window.add(now, choose.randrange(1, 4))
            now += choose.random()
        surplus = window.used(now) - 10 + 1
        wait = window.wait(now, surplus)
        assert 0 < wait <= 61.0 + 1e-6
        assert window.used(now + wait * 0.98 - 1e-3) >= 10
        now += wait + 1e-6
        assert window.used(now) < 10


def test_whoever_invents_names_shares_a_count_with_all_who_do() -> None:
    clock = 100.0
    counters = LimitCounters(lambda: clock)
    for number in range(MOST):
        counters.gauge(GaugeKey("l", Figure.CALLS, 60.0, f"{number}"), "", 1).add(clock, 1)
    one, other = (
        counters.gauge(GaugeKey("l", Figure.CALLS, 60.0, name), name, 1) for name in ("x", "y")
    )
    assert one is other and one.label == OTHERS
    clock = 1000.0
    assert counters.gauge(GaugeKey("l", Figure.CALLS, 60.0, "z"), "z", 1).label == "z"
