"""Dismissals: a caller whose token was revoked loses everything it opened."""

from __future__ import annotations

from collections.abc import Callable

from toolyard.core.caller import Caller


class Dismissals:
    """Passes the word on from whoever revokes a token to the doors that hold its sessions."""

    def __init__(self) -> None:
        self._doors: list[Callable[[Caller], None]] = []

    def listen(self, dismiss: Callable[[Caller], None]) -> None:
        """Add a door: `dismiss` ends what a caller has opened there."""
        self._doors.append(dismiss)

    def dismiss(self, caller: Caller) -> None:
        """End everything that a caller has opened; call it on the event loop of the doors."""
        for dismiss in self._doors:
            dismiss(caller)
