"""Calls in groups: those of one part that are alike, with their ids, moments and durations.

A part is made of calls with successive ids, and grouped once, when it is complete. So a question
about a million calls reads a few thousand rows: groups tell which calls match, when they began and
how long they took. Writing a call costs no more for it.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from typing import Final, Literal

from toolyard.records.database import Row
from toolyard.records.durations import pack_durations
from toolyard.records.seals.model import RowSpan, Run

PART: Final = 10_000
"""Ids in a part; 65,536 at most, since a group keeps how far each is from the first."""
TEXTS_LENGTH: Final = 65_536
"""Characters of texts that a group keeps; of one with more, each call is looked at."""
SUMMARIES: Final = """
CREATE TABLE call_summaries (
    part INTEGER NOT NULL, server TEXT NOT NULL, tool TEXT NOT NULL, agent TEXT NOT NULL,
    caller TEXT NOT NULL, outcome TEXT NOT NULL, least_at REAL NOT NULL, most_at REAL NOT NULL,
    times BLOB NOT NULL, PRIMARY KEY (part, server, tool, agent, caller, outcome)
) WITHOUT ROWID
"""
"""Groups as they were once, without the ids and moments of their calls."""
MIGRATION: Final = """
DROP TABLE call_summaries;
CREATE TABLE call_groups (
    part INTEGER NOT NULL, server TEXT NOT NULL, tool TEXT NOT NULL, agent TEXT NOT NULL,
    caller TEXT NOT NULL, outcome TEXT NOT NULL, least_at REAL NOT NULL, most_at REAL NOT NULL,
    bodies INTEGER NOT NULL, durations BLOB NOT NULL, texts TEXT, ids BLOB NOT NULL,
    moments BLOB NOT NULL, PRIMARY KEY (part, server, tool, agent, caller, outcome)
) WITHOUT ROWID
"""
"""`bodies` is 1 if arguments or results of a call are kept. `texts` are folded; NULL if they are
too long. Ids grow; moments grow, too, with the duration of the same call at the same place. What
is read most often stands first, since SQLite reads a long row up to the column it is asked for."""

_DONE: Final = "SELECT max(part) FROM call_groups"
_NEXT: Final = "SELECT min(id), (SELECT max(id) FROM call_log) FROM call_log WHERE id >= ?"
_CALLS: Final = (
    "SELECT server, tool, agent, caller, outcome, id, at, ms, error,"
    " arguments IS NOT NULL OR result IS NOT NULL"
    " FROM call_log WHERE id >= ? AND id < ? ORDER BY id"
)
_INSERT: Final = (
    "INSERT INTO call_groups (part, server, tool, agent, caller, outcome, least_at, most_at,"
    " bodies, durations, texts, ids, moments)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)
_REMOVE: Final = "DELETE FROM call_groups WHERE part >= ? AND part <= ?"
_REMOVE_OLD: Final = "DELETE FROM call_groups WHERE part < (SELECT min(id) FROM call_log) / ?"
_LATEST: Final = 2**32 - 1
"""The last second that a group can tell."""


class CallGroups:
    """Groups complete parts of the calls, within transactions of whoever writes them."""

    def __init__(self, part: int = PART, margin: int = 0) -> None:
        """Group nothing yet.

        Args:
            margin: Ids that a part must be behind the newest, where hubs write at a time.
        """
        self.part = part
        self._margin = margin

    def add_next(self, run: Run) -> bool:
        """Group the next part that is complete; false if there was none."""
        ((done,),) = run(_DONE, ())
        begin = 0 if done is None else (done + 1) * self.part
        ((first, last),) = run(_NEXT, (begin,))
        if first is None:
            return False
        part = first // self.part
        if (part + 1) * self.part > last - self._margin:
            return False
        first = part * self.part
        groups: dict[Row, _Group] = {}
        for *names, id_, at, ms, error, has_bodies in run(_CALLS, (first, first + self.part)):
            key = tuple(names)
            if key not in groups:
                groups[key] = _Group(key)
            groups[key].add(id_ - first, at, ms, error, has_bodies)
        for group in groups.values():
            run(_INSERT, (part, *group.row()))
        return True

    def forget(self, run: Run, span: RowSpan) -> None:
        """Remove the groups of parts of which calls are forgotten."""
        run(_REMOVE, (span.first // self.part, span.last // self.part))
        # A hub of an older version forgets calls, and knows nothing of their groups.
        run(_REMOVE_OLD, (self.part,))


class _Group:
    """Calls of one part that are alike, while they are put together."""

    __slots__ = ("bodies", "ids", "names", "texts", "timings")

    def __init__(self, names: Row) -> None:
        self.names = names
        self.ids: list[int] = []
        self.timings: list[tuple[float, float]] = []
        self.texts: set[str] = set()
        """Errors; empty for calls without one."""
        self.bodies = False

    def add(self, id_: int, at: float, ms: float, error: str, has_bodies: bool) -> None:
        """Add a call, by its place in the part."""
        self.ids.append(id_)
        self.timings.append((at, ms))
        self.texts.add(error)
        self.bodies = self.bodies or has_bodies

    def row(self) -> Row:
        """Return all but the number of the part."""
        self.timings.sort()
        moments = [min(max(int(at), 0), _LATEST) for at, _ in self.timings]
        return (
            *self.names,
            self.timings[0][0],
            self.timings[-1][0],
            int(self.bodies),
            pack_durations(ms for _, ms in self.timings),
            self._searchable(),
            _pack("H", self.ids),
            _pack("I", moments),
        )

    def _searchable(self) -> str | None:
        """Return the texts of all calls as they are searched; None if they are too long."""
        *names, _outcome = self.names
        length = sum(len(error) for error in self.texts)
        texts = "\n".join(group_text(names, error) for error in sorted(self.texts))
        return texts if length <= TEXTS_LENGTH else None


def group_text(names: Sequence[str], error: str = "") -> str:
    """Return the names and the error of a call as they are searched."""
    return " ".join((*names, error)).casefold()


def read_ids(first: int, packed: bytes) -> list[int]:
    """Return the ids of a group's calls, which grow; `first` is that of its part."""
    return [first + id_ for id_ in _unpack("H", packed)]


def read_moments(packed: bytes) -> Sequence[int]:
    """Return the seconds since 1970 in which a group's calls began, which grow."""
    return _unpack("I", packed)


def _pack(kind: Literal["H", "I"], numbers: Sequence[int]) -> bytes:
    packed = array(kind, numbers)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _unpack(kind: Literal["H", "I"], packed: bytes) -> array[int]:
    numbers = array(kind)
    numbers.frombytes(packed)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
