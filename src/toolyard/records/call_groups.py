"""Calls in groups: those of one part that are alike, with their ids, moments and durations.

A part is made of calls with successive ids, and grouped once, when it is complete. So a question
about a million calls reads a few thousand rows: groups tell which calls match, when they began and
how long they took. Writing a call costs no more for it.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator, Sequence
from time import time
from typing import Final, Literal

from msgspec.json import Decoder

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
_ALIKE: Final = """
SELECT server, tool, agent, caller, outcome, max(has_bodies), CAST({collect}(id - ?) AS TEXT),
    CAST({collect}(at - ?) AS TEXT), CAST({collect}(ms) AS TEXT),
    CAST({collect}(DISTINCT error) AS TEXT)
FROM (
    SELECT server, tool, agent, caller, outcome, id, at, ms, error,
        CASE WHEN arguments IS NULL AND result IS NULL THEN 0 ELSE 1 END AS has_bodies
    FROM call_log WHERE id >= ? ORDER BY id LIMIT ?
) AS calls WHERE id < ? GROUP BY server, tool, agent, caller, outcome
"""
"""Calls that are alike come as one row of lists. Had each a row of its own, Python would let other
threads run before it reads the next one, and those that answer clients would change places with
this one for every call. The limit is never reached: it keeps SQLite from sorting whole bodies."""
_INSERT: Final = (
    "INSERT INTO call_groups (part, server, tool, agent, caller, outcome, least_at, most_at,"
    " bodies, durations, texts, ids, moments)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)
_REMOVE: Final = "DELETE FROM call_groups WHERE part >= ? AND part <= ?"
_REMOVE_OLD: Final = "DELETE FROM call_groups WHERE part < (SELECT min(id) FROM call_log) / ?"
_LATEST: Final = 2**32 - 1
"""The last second that a group can tell."""
_read_ids: Final = Decoder(list[int]).decode
_read_numbers: Final = Decoder(list[float]).decode
_read_texts: Final = Decoder(list[str]).decode


class CallGroups:
    """Groups complete parts of the calls, within transactions of whoever writes them."""

    def __init__(self, collect: str, part: int = PART, margin: int = 0) -> None:
        """Group nothing yet.

        Args:
            collect: The engine's function that makes a JSON list of the values of a group.
            margin: Ids that a part must be behind the newest, where hubs write at a time.
        """
        self.part = part
        self._alike = _ALIKE.format(collect=collect)
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
        for row in self._read_alike(run, part * self.part):
            run(_INSERT, (part, *row))
        return True

    def _read_alike(self, run: Run, first: int) -> Iterator[Row]:
        """Return all but the number of the part of each group in one, by its first id."""
        # Moments are told from now on, since SQLite writes 15 digits of a number.
        now, part = int(time()), self.part
        found = run(self._alike, (first, now, first, part, first + part))
        for *names, has_bodies, ids, moments, durations, errors in found:
            since = _read_numbers(moments)
            timings = sorted(zip(since, _read_numbers(durations), strict=True))
            began = [now + moment for moment, _ in timings]
            yield (
                *names,
                began[0],
                began[-1],
                has_bodies,
                pack_durations(ms for _, ms in timings),
                _searchable(names, _read_texts(errors)),
                _pack("H", sorted(_read_ids(ids))),
                _pack("I", [min(max(int(at), 0), _LATEST) for at in began]),
            )

    def forget(self, run: Run, span: RowSpan) -> None:
        """Remove the groups of parts of which calls are forgotten."""
        run(_REMOVE, (span.first // self.part, span.last // self.part))
        # A hub of an older version forgets calls, and knows nothing of their groups.
        run(_REMOVE_OLD, (self.part,))


def _searchable(names: Sequence[str], errors: Sequence[str]) -> str | None:
    """Return the texts of all calls of a group as they are searched; None if they are too long."""
    *texts, _outcome = names
    length = sum(len(error) for error in errors)
    searchable = "\n".join(group_text(texts, error) for error in sorted(errors))
    return searchable if length <= TEXTS_LENGTH else None


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
