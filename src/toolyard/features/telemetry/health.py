"""The collector as the exporters find it: one word when it is away, and one when it is back."""

from __future__ import annotations

import asyncio
import logging
import threading

from toolyard.core.model import Problem
from toolyard.core.problems import ProblemCode
from toolyard.features.telemetry.model import SOURCE

log = logging.getLogger(__name__)


class CollectorHealth:
    """The addresses that take nothing just now; exporters tell from threads of their own."""

    def __init__(self) -> None:
        self.changed = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._away: dict[str, str] = {}

    @property
    def problems(self) -> tuple[Problem, ...]:
        """One problem for each signal that cannot be delivered."""
        with self._lock:
            away = sorted(self._away.items())
        hint = "start the collector, or correct the endpoint and restart the hub; calls go on"
        return tuple(
            Problem(
                ProblemCode.TELEMETRY_COLLECTOR,
                f"the collector at {address} does not take {signal}",
                hint,
                SOURCE,
            )
            for signal, address in away
        )

    def note(self, signal: str, address: str, *, is_taken: bool) -> None:
        """A batch was delivered, or could not be."""
        with self._lock:
            if is_taken == (signal not in self._away):
                return
            if is_taken:
                del self._away[signal]
            else:
                self._away[signal] = address
        if is_taken:
            log.info("the collector at %s takes %s again", address, signal)
        else:
            log.warning("the collector at %s does not take %s; calls go on", address, signal)
        try:
            self._loop.call_soon_threadsafe(self.changed.set)
        except RuntimeError:  # the hub has stopped meanwhile
            return
