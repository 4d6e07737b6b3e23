"""Some thousand of the inputs of `tests/stress/fuzz.py`, and growth that is told from noise."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.stress import parsers
from tests.stress.fuzz import FuzzError, by_chance
from tests.stress.slopes import slope

INPUTS = 1000
SEED = 20261118


@pytest.mark.parametrize("name", parsers.PARSERS)
def test_a_parser_takes_an_input_or_refuses_it_with_its_one_error(
    name: str, record_property: Callable[[str, object], None]
) -> None:
    came_to = by_chance(name, INPUTS, SEED)

    assert not came_to.startswith("0 taken"), "inputs that are all refused show little"
    record_property("figure", f"{name}: {INPUTS:,} inputs, {came_to.partition(',')[0]}")


def test_a_parser_with_another_error_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(data: bytes) -> bool:
        return bool(data.decode())

    monkeypatch.setitem(parsers.PARSERS, "careless", (careless, (b"plain",)))
    with pytest.raises(FuzzError, match="careless, input"):
        by_chance("careless", INPUTS, SEED)


@pytest.mark.parametrize(("growth", "is_seen"), [(0.0, False), (6.0, True)])
def test_a_slope_is_told_from_noise_that_lasts(growth: float, is_seen: bool) -> None:
    chance, level, points = random.Random(SEED), 0.0, []
    for second in range(0, 3000, 10):
        level = 0.8 * level + chance.gauss(0, 0.2)
        points.append((float(second), 50 + level + growth * second / 3600))

    line = slope(points)
    assert (line.least > 3.0) == is_seen
    assert abs(line.value - growth) < 2.31 * 2 * line.error


def test_a_slope_of_too_few_points_is_refused() -> None:
    with pytest.raises(ValueError, match="20 are needed"):
        slope([(0.0, 1.0)] * 19)
