"""Finds out whose answer was dropped, where the answer itself did not tell."""

from __future__ import annotations

from collections.abc import Iterable


class Suspects:
    """Calls of which so many will never be answered; every answer that comes clears its call."""

    __slots__ = ("_calls", "_dropped", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        """Bytes of an answer; those that were dropped had more."""
        self._calls: set[bytes] = set()
        self._dropped = 0

    def __contains__(self, call: bytes) -> bool:
        return call in self._calls

    def add(self, under_way: Iterable[bytes]) -> None:
        """An answer was dropped, to one of these calls."""
        self._calls.update(under_way)
        self._dropped += 1

    def clear(self, call: bytes) -> None:
        """A call was answered."""
        self._calls.discard(call)

    @property
    def found(self) -> set[bytes]:
        """All that are left, once there are no more of them than answers were dropped."""
        return self._calls if len(self._calls) <= self._dropped else set()
