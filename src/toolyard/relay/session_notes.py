"""Wishes that a client utters after its greeting, kept for whoever takes its session up.

The id of a session is fixed when it begins; what is set later cannot be in it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, Protocol

from toolyard.relay.session import Session

NOTES: Final = 10_000
NOTE_CHARS: Final = 16 << 10
"""Characters of the URIs that one session follows; those beyond are not taken up again."""
ALL_CHARS: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class SessionNote:
    """The wishes of one client."""

    log_level: str | None = None
    watched: tuple[str, ...] = ()
    """The URIs of the resources it follows."""

    @property
    def size(self) -> int:
        """Characters of all its URIs."""
        return sum(map(len, self.watched))


NO_NOTE: Final = SessionNote()


class SessionNotes(Protocol):
    """Keeps notes by the principal of a session, which is the same at every replica."""

    async def read(self, principal: str) -> SessionNote:
        """The note of a session; an empty one if there is none."""
        ...

    def write(self, principal: str, note: SessionNote) -> None:
        """Keep a note in place of the last one; an empty one is not kept."""
        ...

    async def settle(self) -> None:
        """Wait until all replicas can read what was written."""
        ...


class NotesHere:
    """Notes in memory, for this replica alone; the oldest goes first."""

    def __init__(self, most: int = NOTES, most_chars: int = ALL_CHARS) -> None:
        self._most = most
        self._most_chars = most_chars
        self._notes: OrderedDict[str, SessionNote] = OrderedDict()
        self._chars = 0

    async def read(self, principal: str) -> SessionNote:
        """The note of a session; an empty one if there is none."""
        return self._notes.get(principal, NO_NOTE)

    def write(self, principal: str, note: SessionNote) -> None:
        """Keep a note in place of the last one; an empty one is not kept."""
        self._chars -= self._notes.pop(principal, NO_NOTE).size
        if note == NO_NOTE:
            return
        self._notes[principal] = note
        self._chars += note.size
        while len(self._notes) > self._most or self._chars > self._most_chars:
            _, oldest = self._notes.popitem(last=False)
            self._chars -= oldest.size

    async def settle(self) -> None:
        """Nobody else reads them."""


def keep_note(notes: SessionNotes, session: Session) -> None:
    """Note what the client of a session wishes, as far as another replica may take it up."""
    if session.replica:
        notes.write(session.principal, SessionNote(session.log_level, fitting(session.watched)))


def fitting(watched: Collection[str]) -> tuple[str, ...]:
    """As many of these URIs as there is room for."""
    ends = accumulate(map(len, watched))
    return tuple(uri for uri, end in zip(watched, ends, strict=True) if end <= NOTE_CHARS)
