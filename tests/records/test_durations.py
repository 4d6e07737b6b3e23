"""Durations of many calls as bytes."""

from __future__ import annotations

import random

import pytest

from toolyard.records.durations import STEPS, find_percentiles, pack_durations

DRAWS = {
    "spread": lambda draw: draw.lognormvariate(3, 1.2),
    "two clusters": lambda draw: draw.choice([0.2, 5e6]),
    "all alike": lambda draw: 7.0,
    "any": lambda draw: draw.choice(STEPS),
}


def test_a_duration_is_off_by_six_percent_at_most() -> None:
    draw = random.Random(1)
    for _ in range(10_000):
        ms = draw.uniform(1, 10) * 10 ** draw.randint(-1, 7)
        assert STEPS[pack_durations([ms])[0]] == pytest.approx(ms, rel=0.06)


def test_what_is_too_short_or_too_long_is_the_first_or_the_last_step() -> None:
    assert [STEPS[step] for step in pack_durations([-1.0, 0.0, 1e12])] == [0.0, 0.0, 1e8]


@pytest.mark.parametrize("kind", DRAWS)
@pytest.mark.parametrize("calls", [1, 2, 19, 511, 512, 513, 5000])
def test_percentiles_are_those_of_the_sorted_durations(kind: str, calls: int) -> None:
    draw = random.Random(calls)
    packed = pack_durations(DRAWS[kind](draw) for _ in range(calls))
    ordered = sorted(packed)

    for percent in (1, 50, 95, 100):
        place = -(-calls * percent // 100) - 1
        assert find_percentiles(packed, percent) == [STEPS[ordered[place]]]
