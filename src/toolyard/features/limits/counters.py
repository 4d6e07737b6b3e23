"""The gauges of all limits: taken from by calls, and shown to people."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from math import ceil
from time import monotonic
from typing import Final

from toolyard.core.counting import counted
from toolyard.core.errors import LimitError
from toolyard.core.limits import Limit
from toolyard.features.limits.gauges import Figure, Gauge, GaugeKey

MOST: Final = 20_000
"""Gauges at a time: whoever invents names must not take all memory."""
OTHERS: Final = "everybody else"
"""Those who share a gauge because there are too many."""
PAID: Final = 10_000
"""Calls that wait for an answer of their client, and were counted when they began."""
SWEEP_SECONDS: Final = 1.0

Fair = Callable[[int], int]
"""Returns the part of a figure that this hub has by itself: all, unless replicas share it."""


class LimitCounters:
    """Counts what is used of every limit."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.clock = clock
        self.fair: Fair = lambda most: most
        self._gauges: dict[GaugeKey, Gauge] = {}
        self._swept_at = 0.0
        self._paid: dict[bytes, None] = {}

    def __iter__(self) -> Iterator[Gauge]:
        return iter(self._gauges.values())

    def gauges(self, limit: Limit, whose: str, label: str) -> list[Gauge]:
        """Return the gauges that a call of somebody moves."""
        figures = (
            (Figure.CALLS, limit.calls, limit.seconds),
            (Figure.BYTES, limit.bytes, limit.seconds),
            (Figure.CONCURRENT, limit.concurrent, 0.0),
        )
        return [
            self.gauge(GaugeKey(limit.name, figure, seconds, whose), label, most)
            for figure, most, seconds in figures
            if most
        ]

    def gauge(self, key: GaugeKey, label: str, most: int) -> Gauge:
        """Return a gauge, which may be that of several if there are too many."""
        gauge = self._gauges.get(key)
        if gauge is None:
            if len(self._gauges) >= MOST and not self._has_swept() and key.whose != OTHERS:
                return self.gauge(key._replace(whose=OTHERS), OTHERS, most)
            gauge = self._gauges[key] = Gauge(key, label, most, self.fair(most))
        elif gauge.most != most:
            gauge.most, gauge.share, gauge.is_apart = most, self.fair(most), False
        return gauge

    def _has_swept(self) -> bool:
        """Forget gauges that show nothing; True if there is room then."""
        now = self.clock()
        if now - self._swept_at >= SWEEP_SECONDS:
            self._swept_at = now
            used = {key: gauge for key, gauge in self._gauges.items() if gauge.used(now)}
            self._gauges = used
        return len(self._gauges) < MOST

    def forget(self, names: Iterable[str]) -> None:
        """Forget the gauges of limits that are gone: all but these."""
        present = frozenset(names)
        self._gauges = {key: at for key, at in self._gauges.items() if key.limit in present}

    def take(self, gauges: Iterable[Gauge], size: int, *, is_paid: bool) -> list[Gauge]:
        """Count a call of so many bytes; return what it moves until it is over.

        A call that `is_paid` was counted when it began, and goes on.

        Raises:
            LimitError: It is too much for one of them; then it counts for none.
        """
        now = self.clock()
        amounts = {Figure.CALLS: 0 if is_paid else 1, Figure.BYTES: size, Figure.CONCURRENT: 1}
        moved = [(gauge, amounts[gauge.key.figure]) for gauge in gauges]
        lacking = [gauge for gauge, amount in moved if amount and gauge.lacks(now, amount)]
        if lacking:
            for gauge in lacking:
                gauge.refused += 1
            raise used_up(max(lacking, key=lambda gauge: gauge.wait(now)), now)
        for gauge, amount in moved:
            gauge.add(now, amount)
        return [gauge for gauge, _ in moved]

    def end(self, gauges: Iterable[Gauge], size: int) -> None:
        """A call is over, with so many bytes of answer."""
        now = self.clock()
        for gauge in gauges:
            if gauge.key.figure is Figure.BYTES:
                gauge.add(now, size)
            elif gauge.key.figure is Figure.CONCURRENT:
                gauge.leave()

    def pay(self, call: bytes) -> None:
        """Know a call again that goes on once its client has answered a question."""
        self._paid[hashlib.sha256(call).digest()] = None
        if len(self._paid) > PAID:
            del self._paid[next(iter(self._paid))]

    def spend(self, call: bytes) -> bool:
        """Tell whether a call was counted when it began; once."""
        digest = hashlib.sha256(call).digest()
        if digest not in self._paid:
            return False
        del self._paid[digest]
        return True


def used_up(gauge: Gauge, now: float) -> LimitError:
    """Return the error of a call that is too much."""
    limit, figure, seconds, _ = gauge.key
    wait = max(1, ceil(gauge.wait(now)))
    whose = f" for {gauge.label}" if gauge.label else ""
    amount = counted(gauge.most, "byte" if figure is Figure.BYTES else "call")
    span = f"in {seconds:g} s" if seconds else "at a time"
    text = f"the limit '{limit}' allows {amount} {span}{whose}, and no more is left"
    return LimitError(text, f"try again in {wait} s", limit, gauge.label, wait)
