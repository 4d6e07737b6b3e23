"""A seal: one link of the chain of a log, as it is kept."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import msgspec

from toolyard.records.database import Row
from toolyard.records.seals.keys import SealKey

Kind = Literal["rows", "forgotten"]
Run = Callable[[str, Sequence[Any]], list[Row]]
"""Carries out a statement, in which `?` stands for a value, and returns its rows."""
START: Final = b""
"""The digest before the first seal."""
COLUMNS: Final = (
    "number, kind, first, last, at, replica, ordered, lock, body, key, previous, digest"
)


class RowSpan(msgspec.Struct, frozen=True, array_like=True, order=True):
    """Ids of rows, with both ends."""

    first: int
    last: int


class Forgotten(msgspec.Struct, frozen=True, array_like=True):
    """The rows and seals that were forgotten on purpose, all of them since the beginning."""

    floor: int = 0
    """No row up to this id is there any more."""
    spans: tuple[RowSpan, ...] = ()
    """The rows above it that are gone as well."""
    start: int = 1
    """The number of the first seal that is still kept."""
    previous: bytes = START
    """The digest of the one before it."""

    def covers(self, id_: int) -> bool:
        """Say whether a row was forgotten."""
        return id_ <= self.floor or any(span.first <= id_ <= span.last for span in self.spans)

    def covers_all(self, span: RowSpan) -> bool:
        """Say whether all these rows were forgotten."""
        return span.last <= self.floor or any(
            max(gone.first, self.floor + 1) <= max(span.first, self.floor + 1)
            and span.last <= gone.last
            for gone in self.spans
        )

    def with_spans(self, spans: Sequence[RowSpan]) -> Forgotten:
        """Return the same, with more rows forgotten."""
        floor, rest = self.floor, list[RowSpan]()
        for span in sorted((*self.spans, *spans)):
            if span.first <= floor + 1:
                floor = max(floor, span.last)
            elif rest and span.first <= rest[-1].last + 1:
                rest[-1] = RowSpan(rest[-1].first, max(rest[-1].last, span.last))
            else:
                rest.append(span)
        return Forgotten(floor, tuple(rest), self.start, self.previous)


class LogSeal(msgspec.Struct, frozen=True):
    """One seal: of rows that were written together, or of what was forgotten."""

    log: str
    """The table."""
    number: int
    kind: Kind
    first: int
    last: int
    at: float
    replica: str
    ordered: int
    """The newest order when it was made: what was ordered up to then held."""
    lock: str
    """The beginning of the SHA-256 digest of the lock file at that time; empty without one."""
    body: bytes
    """The marks of the rows, or a `Forgotten`."""
    key: str
    """The id of the key it was made with."""
    previous: bytes
    digest: bytes = b""

    def digest_with(self, key: SealKey) -> bytes:
        """Return the digest that it must have."""
        return key.digest(msgspec.structs.astuple(self)[:-1])

    @property
    def forgotten(self) -> Forgotten:
        """All that was forgotten up to this seal, if that is what it says."""
        return msgspec.msgpack.decode(self.body, type=Forgotten)


def sqlite_run(connection: sqlite3.Connection) -> Run:
    """Return what carries out statements over a connection to SQLite."""
    return lambda sql, values: connection.execute(sql, values).fetchall()


def read_seal(log: str, row: Row) -> LogSeal:
    """Make a seal of a row with `COLUMNS`."""
    plain: Row = tuple(bytes(value) if isinstance(value, memoryview) else value for value in row)
    return LogSeal(log, *plain)
