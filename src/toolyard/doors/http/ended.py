"""Sessions that their clients have ended, remembered as long as their ids would still open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

ENDED: Final = 100_000


class EndedSessions(Protocol):
    """Tells which sessions are over; other replicas may have ended some of them."""

    def add(self, session: bytes, until: float) -> None:
        """Remember that a session is over, until this time; `session` stands for its id."""
        ...

    def __contains__(self, session: bytes) -> bool: ...


class EndedHere:
    """The sessions that were ended at this replica; of too many, the oldest are forgotten."""

    def __init__(self, clock: Callable[[], float], most: int = ENDED) -> None:
        self._clock = clock
        self._most = most
        self._until: dict[bytes, float] = {}

    def add(self, session: bytes, until: float) -> None:
        """Remember that a session is over, until this time; `session` stands for its id."""
        self._until[session] = until
        if len(self._until) > self._most:
            self._sweep()

    def __contains__(self, session: bytes) -> bool:
        return session in self._until

    def _sweep(self) -> None:
        """Forget what no id leads to any more; of what is left, a tenth if it is too much."""
        now = self._clock()
        left = [(session, until) for session, until in self._until.items() if until > now]
        self._until = dict(left[-(self._most * 9 // 10) :])
