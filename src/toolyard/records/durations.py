"""Durations of many calls as bytes, one for each call, from which counts and percentiles are read.

A byte stands for one of 28 steps to each power of ten, 6 % off at most. So bytes of any number of
calls are put together by joining them, and a million of them are gone through in milliseconds.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable
from itertools import pairwise
from typing import Final

_DIGITS: Final = (
    *(10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 26, 28, 30, 33, 36, 40, 43, 47),
    *(50, 55, 60, 65, 70, 75, 80, 87, 94),
)
_POWERS: Final = range(-1, 8)
STEPS: Final = (0.0, *(float(f"{n}e{power - 1}") for power in _POWERS for n in _DIGITS), 1e8)
"""Milliseconds, by the byte that stands for them: from 0.1 to 100,000,000, which is a day."""
_EDGES: Final = [(step + following) / 2 for step, following in pairwise(STEPS)]
_UP_TO: Final = [bytes(range(last + 1)) for last in range(len(STEPS))]
_SAMPLE: Final = 128
"""Bytes that are sorted: all of them, or some to begin with a good guess."""


def pack_durations(durations: Iterable[float]) -> bytes:
    """Return the bytes that stand for these milliseconds."""
    return bytes([bisect(_EDGES, ms) for ms in durations])


def find_percentiles(packed: bytes, *percents: int) -> list[float]:
    """Return the shortest durations that so many percent do not exceed; `packed` is not empty."""
    sample = sorted(packed[:: len(packed) // _SAMPLE + 1])
    ranks = [-(-len(packed) * percent // 100) for percent in percents]
    if len(sample) == len(packed):
        return [STEPS[sample[rank - 1]] for rank in ranks]
    guesses = [sample[rank * len(sample) // len(packed) - 1] for rank in ranks]
    return [STEPS[_select(packed, *place)] for place in zip(ranks, guesses, strict=True)]


def _select(packed: bytes, rank: int, guess: int) -> int:
    """Return the byte at a place of the order; each turn goes through all that remain."""
    low, high, step = 0, len(STEPS) - 1, 1
    while low < high:
        middle = min(max(guess, low), high - 1)
        above = packed.translate(None, _UP_TO[middle])
        below = len(packed) - len(above)
        if below >= rank:
            high, guess = middle, middle - step
        else:
            packed, rank, low, guess = above, rank - below, middle + 1, middle + step
        step *= 2
        if low > 0 and high < len(STEPS) - 1:
            guess = (low + high) // 2
    return low
