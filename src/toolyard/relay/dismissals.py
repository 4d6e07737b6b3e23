"""Dismissals: callers who are let in no longer lose everything they opened."""

from __future__ import annotations

from collections.abc import Callable, Collection

from toolyard.core.caller import Caller
from toolyard.relay.session import Session

IsMeant = Callable[[Session], bool]
"""Tells of a session whether it is to end."""
IsGone = Callable[[Caller], bool]
"""Tells of a caller whether it is let in no longer."""
IsAccountGone = Callable[[str], bool]
"""Tells of an account whether nobody is let in by it any more."""


class Dismissals:
    """Passes the word on from whoever takes a right back to the doors where it was used."""

    def __init__(self) -> None:
        self._doors: list[Callable[[IsGone], None]] = []
        self._servers: list[Callable[[Callable[[str], bool]], None]] = []
        self._memories: list[Callable[[Collection[str]], None]] = []
        self._keepers: list[Callable[[IsAccountGone], None]] = []
        self._enders: list[Callable[[IsMeant], int]] = []

    def listen(self, dismiss: Callable[[IsGone], None]) -> None:
        """Add a door: `dismiss` ends what some callers have opened there."""
        self._doors.append(dismiss)

    def listen_for_ends(self, end_sessions: Callable[[IsMeant], int]) -> None:
        """Add a door whose sessions can be ended: `end_sessions` returns how many it ended."""
        self._enders.append(end_sessions)

    def end_sessions(self, is_meant: IsMeant) -> int:
        """End such sessions; return how many there were. Call it on the loop of the doors."""
        return sum(end(is_meant) for end in self._enders)

    def dismiss(self, caller: Caller) -> None:
        """End everything that a caller has opened; call it on the event loop of the doors."""
        self.dismiss_all(lambda other: other == caller)

    def dismiss_all(self, is_gone: IsGone) -> None:
        """End everything that such callers have opened; call it on the same loop."""
        for dismiss in self._doors:
            dismiss(is_gone)

    # What runs and is kept for members.

    def listen_servers(self, end: Callable[[Callable[[str], bool]], None]) -> None:
        """Add somebody who ends what runs for members that are let in no longer."""
        self._servers.append(end)

    def listen_memories(self, forget: Callable[[Collection[str]], None]) -> None:
        """Add somebody who forgets what is kept for members that are gone."""
        self._memories.append(forget)

    def dismiss_members(self, is_out: Callable[[str], bool], gone: Collection[str]) -> None:
        """End what runs for members, by key, who are out; forget all about those who are gone."""
        for end in self._servers:
            end(is_out)
        for forget in self._memories:
            forget(gone)

    # What runs for other accounts.

    def listen_to_accounts(self, end: Callable[[IsAccountGone], None]) -> None:
        """Add somebody who ends what runs for accounts that are nobody's any more."""
        self._keepers.append(end)

    def end_accounts(self, is_gone: IsAccountGone) -> None:
        """End the servers that run for such accounts alone; call it on the same loop."""
        for end in self._keepers:
            end(is_gone)
