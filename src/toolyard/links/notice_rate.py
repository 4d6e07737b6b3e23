"""The rate of notifications that a server may send: a steady stream and bursts, but no flood."""

from __future__ import annotations

from typing import Final

from toolyard.links.pending import PendingRequest

NOTICES_PER_SECOND: Final = 100
NOTICES_AT_ONCE: Final = 500
"""Notifications of one call, and of one server outside of calls, that are passed on, steadily and
in a burst; the rest is dropped."""


class NoticeRate:
    """Counts the notifications of one server.

    What belongs to a call has room of its own, so that many callers do not take each other's.
    """

    def __init__(self, now: float) -> None:
        self._room = float(NOTICES_AT_ONCE)
        self._room_at = now

    def has_room(self, pending: PendingRequest | None, now: float) -> bool:
        """Tell whether one more notification fits, of a call or of none, and count it."""
        if pending is not None and pending.patience:
            pending.heard += 1
            return pending.heard <= NOTICES_AT_ONCE + (now - pending.began) * NOTICES_PER_SECOND
        more = (now - self._room_at) * NOTICES_PER_SECOND
        self._room = min(NOTICES_AT_ONCE, self._room + more)
        self._room_at = now
        fits = self._room >= 1
        self._room -= fits
        return fits
