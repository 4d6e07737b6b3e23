"""Gauges: one figure of a limit each, for those whose use counts together."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from toolyard.features.limits.windows import Window

MOMENT: Final = 1.0
"""Seconds after which to try again where nobody can tell when a call ends, or a share grows."""


class Figure(StrEnum):
    """The figure of a limit that a gauge shows."""

    CALLS = "calls"
    BYTES = "bytes"
    CONCURRENT = "concurrent"


class GaugeKey(NamedTuple):
    """Tells gauges apart; a limit that is raised keeps its gauges, and what they show."""

    limit: str
    figure: Figure
    seconds: float
    """The time of the window; 0 for calls that are under way."""
    whose: str
    """Those whose use counts together: empty for everybody's."""


class Gauge:
    """What is used here of one figure of a limit, and the part of it that may be."""

    __slots__ = (
        "_running",
        "_window",
        "elsewhere",
        "is_apart",
        "key",
        "label",
        "most",
        "refused",
        "share",
        "taken",
    )

    def __init__(self, key: GaugeKey, label: str, most: int, share: int) -> None:
        self.key = key
        self.label = label
        """Those whose use it shows, for people."""
        self.most = most
        """The figure of the limit."""
        self.share = share
        """The part of it that may be used at this hub: all, unless replicas share it."""
        self.is_apart = False
        """True once the share is another than each replica has by itself."""
        self.elsewhere = 0
        """What other replicas have used, as was last heard."""
        self.taken = 0
        """What was used since others were last told."""
        self.refused = 0
        """What could not be used since then."""
        self._window = Window(key.seconds) if key.seconds else None
        self._running = 0

    def used(self, now: float) -> int:
        """Return what counts of the use at this hub."""
        return self._window.used(now) if self._window is not None else self._running

    def lacks(self, now: float, amount: int) -> bool:
        """Tell whether so much more is too much here; of bytes, something must be left."""
        used = self.used(now)
        if self.key.figure is Figure.BYTES:
            return used >= self.share
        return used + amount > self.share

    def add(self, now: float, amount: int) -> None:
        """Count something more."""
        self.taken += amount
        if self._window is not None:
            self._window.add(now, amount)
        else:
            self._running += amount

    def leave(self) -> None:
        """A call that was under way is over."""
        self._running -= 1

    def wait(self, now: float) -> float:
        """Return the seconds after which to try again."""
        used = self.used(now)
        if self._window is None:
            return MOMENT
        wait = self._window.wait(now, used - self.share + 1)
        has_others = used + self.elsewhere < self.most and self.share < self.most
        return min(MOMENT, wait) if has_others else wait

    def resets_in(self, now: float) -> float:
        """Return the seconds until nothing of what is used here counts any more."""
        if self._window is None:
            return 0.0
        used = self.used(now)
        return self._window.wait(now, used) if used else 0.0
