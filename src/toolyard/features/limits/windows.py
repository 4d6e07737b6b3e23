"""The use of the last seconds, exact where it counts: never more in any such time than allowed."""

from __future__ import annotations

from collections import deque
from typing import Final

SLICES: Final = 60


class Window:
    """Counts what was used in the last so many seconds.

    Use is kept in slices, so that a million calls take no more memory than one. A slice leaves as a
    whole, and only when all of it is old enough: what counts is never less than the true use.
    """

    __slots__ = ("_slices", "_sum", "_width")

    def __init__(self, seconds: float) -> None:
        self._width = seconds / SLICES
        self._slices: deque[list[int]] = deque()
        """Number and use of each slice, the oldest first."""
        self._sum = 0

    def used(self, now: float) -> int:
        """Return what counts at this time."""
        oldest = int(now / self._width) - SLICES
        while self._slices and self._slices[0][0] < oldest:
            self._sum -= self._slices.popleft()[1]
        return self._sum

    def add(self, now: float, amount: int) -> None:
        """Count something more."""
        number = int(now / self._width)
        if self._slices and self._slices[-1][0] >= number:
            self._slices[-1][1] += amount
        else:
            self._slices.append([number, amount])
        self._sum += amount

    def wait(self, now: float, surplus: int) -> float:
        """Return the seconds until so much of what counts now has left."""
        left = surplus
        for number, amount in self._slices:
            left -= amount
            if left <= 0:
                return max(0.0, (number + SLICES + 1) * self._width - now)
        return self._width * SLICES
