"""The chain of a log as a hub continues it, in the transaction that writes or forgets rows."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import time
from typing import Final

import msgspec

from toolyard.core.errors import StoreError
from toolyard.records.files import read_bounded
from toolyard.records.seals.keys import MARK, SealKeys
from toolyard.records.seals.model import (
    COLUMNS,
    Forgotten,
    Kind,
    LogSeal,
    RowSpan,
    Run,
    read_seal,
)
from toolyard.records.seals.tail import ChainEnd, TailFile

log = logging.getLogger(__name__)

MIGRATION: Final = """
CREATE TABLE seals (
    log TEXT NOT NULL, number INTEGER NOT NULL, kind TEXT NOT NULL, first INTEGER NOT NULL,
    last INTEGER NOT NULL, at REAL NOT NULL, replica TEXT NOT NULL, ordered INTEGER NOT NULL,
    lock TEXT NOT NULL, body BLOB NOT NULL, key TEXT NOT NULL, previous BLOB NOT NULL,
    digest BLOB NOT NULL, PRIMARY KEY (log, number)
) WITHOUT ROWID;
CREATE INDEX seals_last ON seals (log, kind, last)
"""
_SELECT: Final = f"SELECT {COLUMNS} FROM seals WHERE log = ?"  # noqa: S608 - our own words
_HEAD: Final = "SELECT number, digest FROM seals WHERE log = ? ORDER BY number DESC LIMIT 1"
_FORGOTTEN: Final = f"{_SELECT} AND kind = 'forgotten' ORDER BY last DESC, number DESC LIMIT 1"
_INSERT: Final = f"INSERT INTO seals (log, {COLUMNS}) VALUES ({', '.join('?' * 13)})"  # noqa: S608 - our own words
_ORDERED: Final = "SELECT coalesce(max(id), 0) FROM audit"
_OLDEST: Final = f"{_SELECT} AND number >= ? ORDER BY number LIMIT 200"
_REMOVE: Final = "DELETE FROM seals WHERE log = ? AND number < ?"
_BETWEEN: Final = (
    "SELECT 1 FROM seals WHERE log = ? AND kind = 'rows' AND last >= ? AND first <= ? LIMIT 1"
)
_LOCK_SIZE: Final = 4 * 1024 * 1024
SHORT: Final = 12
"""Hexadecimal digits of the digest of a lock file."""


class LogChain:
    """The chain of one log; its methods are called within a transaction, one at a time."""

    def __init__(
        self,
        name: str,
        base: Sequence[str],
        keys: SealKeys,
        tail: TailFile,
        replica: str = "",
        read_lock: Callable[[], str] = lambda: "",
    ) -> None:
        """Continue the chain of the table `name`.

        Args:
            base: The columns that every row of it has.
            tail: Where the newest seal is noted, away from the database.
            read_lock: Returns the beginning of the lock file's digest.
        """
        self.name, self.base = name, tuple(base)
        self._keys, self._tail, self._replica = keys, tail, replica
        self._read_lock = read_lock
        self._written = ChainEnd()
        """The newest seal of this hub that is surely in the database."""
        self._pending = ChainEnd()

    def mark(self, columns: Sequence[str], rows: Sequence[tuple[object, ...]]) -> bytes:
        """Return the marks of rows; needs no transaction."""
        return self._keys.newest.mark_rows(self.base, columns, rows)

    def seal_rows(self, run: Run, first: int, marks: bytes) -> None:
        """Seal rows that were just written, with ids from `first` on."""
        self._append(run, "rows", RowSpan(first, first + len(marks) // MARK - 1), marks)

    def forget(self, run: Run, spans: Sequence[RowSpan]) -> None:
        """Say that rows are forgotten on purpose, and let go of the seals of nothing else."""
        forgotten = self._forgotten(run).with_spans(spans)
        forgotten = self._shorten(run, self._bridge(run, forgotten))
        body, floor = msgspec.msgpack.encode(forgotten), forgotten.floor
        self._append(run, "forgotten", RowSpan(floor, floor), body)

    def committed(self) -> None:
        """Note that the seals made so far are in the database."""
        if self.is_pending:
            self._written = self._pending
            self._tail.write(self._written)

    @property
    def is_pending(self) -> bool:
        """True if a seal was made that may not be in the database yet."""
        return self._pending.number > self._written.number

    def confirm(self, run: Run) -> None:
        """Note the newest seal as the database has it, where nobody told that it was written."""
        self._pending, head = ChainEnd(), self._head(run)
        if head.number > self._written.number:
            self._written = head
            self._tail.write(head)

    def _append(self, run: Run, kind: Kind, span: RowSpan, body: bytes) -> None:
        head = self._head(run)
        ((ordered,),) = run(_ORDERED, ())
        key = self._keys.newest
        seal = LogSeal(
            self.name,
            head.number + 1,
            kind,
            span.first,
            span.last,
            time(),
            self._replica,
            int(ordered),
            self._read_lock(),
            body,
            key.id,
            head.digest,
        )
        seal = msgspec.structs.replace(seal, digest=seal.digest_with(key))
        run(_INSERT, msgspec.structs.astuple(seal))
        self._pending = ChainEnd(seal.number, seal.digest)

    def _head(self, run: Run) -> ChainEnd:
        """Return the newest seal; where the database has lost one of ours, that one.

        So the numbers between the two stay missing, and a check finds it.
        """
        rows = run(_HEAD, (self.name,))
        head = ChainEnd(rows[0][0], bytes(rows[0][1])) if rows else ChainEnd()
        known = self._written if self._written.number else self._tail.read()
        return head if head.number >= known.number else known

    def _forgotten(self, run: Run) -> Forgotten:
        rows = run(_FORGOTTEN, (self.name,))
        if not rows:
            return Forgotten()
        seal = read_seal(self.name, rows[0])
        key = self._keys.get(seal.key)
        if key is not None and seal.digest_with(key) != seal.digest:
            log.warning("a seal was altered", extra={"log": self.name, "seal": seal.number})
            return Forgotten()  # a check is to find it
        return seal.forgotten

    def _bridge(self, run: Run, forgotten: Forgotten) -> Forgotten:
        """Close the gaps between forgotten rows in which no row was ever sealed."""
        while forgotten.spans:
            gap = RowSpan(forgotten.floor + 1, forgotten.spans[0].first - 1)
            if run(_BETWEEN, (self.name, gap.first, gap.last)):
                break
            forgotten = forgotten.with_spans([gap])
        return forgotten

    def _shorten(self, run: Run, forgotten: Forgotten) -> Forgotten:
        """Remove the oldest seals, as long as all their rows are forgotten."""
        start, previous = forgotten.start, forgotten.previous
        for seal in self._from(run, start):
            if seal.kind == "rows" and not forgotten.covers_all(RowSpan(seal.first, seal.last)):
                break
            start, previous = seal.number + 1, seal.digest
        run(_REMOVE, (self.name, start))
        return msgspec.structs.replace(forgotten, start=start, previous=previous)

    def _from(self, run: Run, number: int) -> Iterator[LogSeal]:
        """Read the seals from a number on."""
        while rows := run(_OLDEST, (self.name, number)):
            seals = [read_seal(self.name, row) for row in rows]
            yield from seals
            number = seals[-1].number + 1


def lock_reader(path: Path) -> Callable[[], str]:
    """Return what tells the beginning of the SHA-256 digest of a lock file, read if it changed."""
    stamp, digest = None, ""

    def read() -> str:
        nonlocal stamp, digest
        try:
            status = path.stat()
            now = (status.st_mtime_ns, status.st_size, status.st_ino)
            if now != stamp:
                digest = hashlib.sha256(read_bounded(path, _LOCK_SIZE)).hexdigest()[:SHORT]
                stamp = now
        except (OSError, StoreError):
            stamp, digest = None, ""
        return digest

    return read
