"""Counts what clients have not read yet, at all doors, and cuts some off when it is too much.

Every connection may leave some bytes unread; many of them together must not take the hub's memory.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

log = logging.getLogger(__name__)

UNREAD_BYTES: Final = 8 << 20
"""A client that has left this much unread gets no more."""
STALLED_SECONDS: Final = 1.0
"""A client that has read nothing for so long is cut off before any that reads."""


class Reader(Protocol):
    """A client, as far as it reads."""

    @property
    def unread(self) -> int:
        """Bytes that were written to it and wait."""
        ...

    def cut_off(self) -> None:
        """Hang up at once, and forget what waits."""
        ...


@dataclass(slots=True)
class _Behind:
    """A client that reads slower than is written."""

    unread: int
    """Bytes that wait, if it has read nothing since it was looked at."""
    since: float
    """When it was last seen to have read something."""


class Unread:
    """Counts the bytes of those who are behind; everybody else has next to none."""

    def __init__(self, limit: int, clock: Callable[[], float]) -> None:
        self._limit = limit
        self._clock = clock
        self._behind: dict[Reader, _Behind] = {}
        self._total = 0

    def fell_behind(self, reader: Reader) -> None:
        """A client reads slower than is written."""
        unread = reader.unread
        self._behind[reader] = _Behind(unread, self._clock())
        self._total += unread
        self._relieve()

    def grew(self, reader: Reader, size: int) -> None:
        """So much more was written to a client that is behind."""
        behind = self._behind.get(reader)
        if behind is not None:
            behind.unread += size
            self._total += size
            self._relieve()

    def caught_up(self, reader: Reader) -> None:
        """A client has read nearly everything, or is gone."""
        behind = self._behind.pop(reader, None)
        if behind is not None:
            self._total -= behind.unread

    def _relieve(self) -> None:
        """Cut clients off until the rest fits: the largest of those that do not read first."""
        if self._total <= self._limit:
            return
        now = self._clock()
        self._look(now)
        while self._total > self._limit:
            worst = max(self._behind, key=lambda reader: self._weigh(reader, now))
            log.warning("a client does not read; hanging up", extra={"unread": worst.unread})
            self.caught_up(worst)
            worst.cut_off()

    def _look(self, now: float) -> None:
        """See what was read meanwhile: nobody tells."""
        for reader, behind in self._behind.items():
            unread = reader.unread
            if unread < behind.unread:
                behind.unread, behind.since = unread, now
        self._total = sum(behind.unread for behind in self._behind.values())

    def _weigh(self, reader: Reader, now: float) -> tuple[bool, int]:
        behind = self._behind[reader]
        return now - behind.since >= STALLED_SECONDS, behind.unread
