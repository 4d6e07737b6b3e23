"""The ends of a link's waits: one clock for all requests costs less than one for each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final, Generic, Protocol, TypeVar

TICK_SECONDS: Final = 0.25
"""The precision of the ends of long waits."""
PAUSE_SECONDS: Final = 2.0
"""A tick that is later than this means that the hub itself stood still, not the servers."""


class Timed(Protocol):
    """Something that is over at a moment of the loop's clock."""

    patience: float
    """0 if it never is."""
    deadline: float
    cap: float


TimedT = TypeVar("TimedT", bound=Timed)


class Deadlines(Generic[TimedT]):
    """Ends the requests of one link that are overdue."""

    def __init__(
        self, under_way: Callable[[], Iterable[TimedT]], expire: Callable[[TimedT], None]
    ) -> None:
        """Watch all requests under way; `expire` ends one of them."""
        self._under_way = under_way
        self._expire = expire
        self._loop = asyncio.get_running_loop()
        self.timer: asyncio.TimerHandle | None = None
        """Runs while a request is watched; every call asks."""
        self._tick_at = 0.0

    def begin(self, wait: float, now: float) -> None:
        """Watch the first request, which may wait so long."""
        self._tick_in(min(wait, TICK_SECONDS), now)

    def stop(self) -> None:
        """Watch no longer."""
        if self.timer is not None:
            self.timer.cancel()

    def _tick(self) -> None:
        now = self._loop.time()
        if (paused := now - self._tick_at) > PAUSE_SECONDS:
            self._extend(paused)
        for pending in [p for p in self._watched() if now >= min(p.deadline, p.cap)]:
            self._expire(pending)
        ends = [min(p.deadline, p.cap) - now for p in self._watched()]
        self.timer = None
        if ends:
            self._tick_in(max(0.001, min(*ends, TICK_SECONDS)), now)

    def _tick_in(self, seconds: float, now: float) -> None:
        self._tick_at = now + seconds
        self.timer = self._loop.call_later(seconds, self._tick)

    def _extend(self, seconds: float) -> None:
        """Give every request the time back in which the hub was stopped and could hear nobody."""
        for pending in self._watched():
            pending.deadline += seconds
            pending.cap += seconds

    def _watched(self) -> list[TimedT]:
        return [pending for pending in self._under_way() if pending.patience]
