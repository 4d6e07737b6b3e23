"""Examines a log by its chain: names each row that was altered, removed or inserted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from msgspec import Struct

from toolyard.records.database import Row
from toolyard.records.seals.keys import MARK, SealKeys
from toolyard.records.seals.model import COLUMNS, Forgotten, LogSeal, Run, read_seal
from toolyard.records.seals.tail import ChainEnd

MOST: Final = 1000
"""Faults that are told; more are only counted."""
_PAGE: Final = 200
_SEALS: Final = (
    f"SELECT {COLUMNS} FROM seals WHERE log = ? AND number > ? AND number <= ?"  # noqa: S608 - our own words
    f" ORDER BY number LIMIT {_PAGE}"
)
_FORGOTTEN: Final = (
    f"SELECT {COLUMNS} FROM seals WHERE log = ? AND kind = 'forgotten'"  # noqa: S608 - our own words
    " ORDER BY last DESC, number DESC"
)

Fault = Literal["altered", "removed", "inserted", "seal altered", "seals missing", "end missing"]


class LogFault(Struct, frozen=True):
    """Something in a log that is not as it was written."""

    log: Literal["calls", "orders"]
    fault: Fault
    """`altered`, `removed` and `inserted` are about rows, the rest about seals."""
    first: int
    """The id of the row, or the number of the seal."""
    last: int
    """The same, or the last one of several."""
    text: str


class LogCheck(Struct, frozen=True):
    """The result of examining one log."""

    log: Literal["calls", "orders"]
    rows: int
    """Rows that are as they were written."""
    seals: int
    """Seals that were examined."""
    unsealed: int
    """Rows from before the first seal: of an older version, or kept without a key."""
    unknown: int
    """Seals made with a key that is not here; neither they nor their rows can be examined."""
    forgotten: int
    """The newest id up to which rows were forgotten on purpose; 0 if none was."""
    faults: list[LogFault]
    more: int
    """Faults that are not listed."""


class LogExaminer:
    """Examines one log, a few hundred rows at a time."""

    def __init__(
        self,
        run: Run,
        log: Literal["calls", "orders"],
        table: str,
        base: Sequence[str],
        columns: Sequence[str],
        keys: SealKeys,
        tail: ChainEnd,
    ) -> None:
        """Examine a table.

        Args:
            run: Reads; nothing else is asked of it.
            base: The columns that every row has.
            columns: All columns that are sealed, with the base first.
            tail: The newest seal as it was noted elsewhere.
        """
        self._run, self._log, self._table = run, log, table
        self._base, self._columns, self._keys, self._tail = base, columns, keys, tail
        self._faults: list[LogFault] = []
        self._more = self._rows = self._seals = self._unknown = 0
        self._forgotten = Forgotten()

    def examine(self) -> LogCheck:
        """Read all seals and rows.

        Raises:
            StoreError: They cannot be read.
        """
        table = self._table
        ((newest, end),) = self._run(  # at one moment, while others write
            f"SELECT (SELECT coalesce(max(id), 0) FROM {table}),"  # noqa: S608 - our own table
            " (SELECT coalesce(max(number), 0) FROM seals WHERE log = ?)",
            (table,),
        )
        self._forgotten = self._find_forgotten()
        previous, number = self._forgotten.previous, self._forgotten.start - 1
        begin = last = 0
        for seal in self._read_seals(number, end):
            self._examine_seal(seal, number, previous)
            number, previous = seal.number, seal.digest
            if seal.kind == "rows":
                if begin:
                    self._find_inserted(last + 1, seal.first - 1)
                begin, last = begin or seal.first, max(last, seal.last)
                self._examine_rows(seal)
        if begin:
            self._find_inserted(last + 1, newest)
        self._examine_end(number)
        return self._result(begin)

    def _result(self, begin: int) -> LogCheck:
        sql = f"SELECT count(*) FROM {self._table}"  # noqa: S608 - our own table
        floor = self._forgotten.floor
        # What was forgotten before the first seal that is kept has no rows any more.
        until = begin or (floor + 1 if self._forgotten.start > 1 else 0)
        ((unsealed,),) = self._run(f"{sql} WHERE id < ?", (until,)) if until else self._run(sql, ())
        if self._forgotten.start > 1 and unsealed:
            self._tell_rows("inserted", 0, until - 1)
            unsealed = 0
        return LogCheck(
            self._log,
            self._rows,
            self._seals,
            unsealed,
            self._unknown,
            floor,
            self._faults,
            self._more,
        )

    def _find_forgotten(self) -> Forgotten:
        """Return what was forgotten, by the newest seal that says so and is whole."""
        for row in self._run(f"{_FORGOTTEN} LIMIT 100", (self._table,)):
            seal = read_seal(self._table, row)
            key = self._keys.get(seal.key)
            if key is None or seal.digest_with(key) == seal.digest:
                return seal.forgotten
        return Forgotten()

    def _read_seals(self, number: int, end: int) -> Iterator[LogSeal]:
        while rows := self._run(_SEALS, (self._table, number, end)):
            for row in rows:
                seal = read_seal(self._table, row)
                yield seal
                number = seal.number

    def _examine_seal(self, seal: LogSeal, before: int, previous: bytes) -> None:
        self._seals += 1
        if seal.number != before + 1:
            self._tell("seals missing", before + 1, seal.number - 1, "removed from the chain")
        elif seal.previous != previous:
            self._tell("seal altered", seal.number, seal.number, "does not follow the one before")
        key = self._keys.get(seal.key)
        if key is None:
            self._unknown += 1
        elif seal.digest_with(key) != seal.digest:
            self._tell("seal altered", seal.number, seal.number, "is not as it was written")

    def _examine_rows(self, seal: LogSeal) -> None:
        """Compare the rows of a seal with their marks."""
        key = self._keys.get(seal.key)
        if key is None:
            return
        rows = self._read_rows(seal.first, seal.last)
        marks = key.mark_rows(self._base, self._columns, list(rows.values()))
        actual = {id_: marks[place * MARK : place * MARK + MARK] for place, id_ in enumerate(rows)}
        for place, id_ in enumerate(range(seal.first, seal.last + 1)):
            if id_ not in actual:
                if not self._forgotten.covers(id_):
                    self._tell_rows("removed", id_, id_)
            elif actual[id_] != seal.body[place * MARK : place * MARK + MARK]:
                self._tell_rows("altered", id_, id_)
            else:
                self._rows += 1

    def _read_rows(self, first: int, last: int) -> dict[int, Row]:
        sql = (  # made of our own words
            f"SELECT id, {', '.join(self._columns)} FROM {self._table}"  # noqa: S608 - see above
            " WHERE id >= ? AND id <= ? ORDER BY id"
        )
        return {row[0]: tuple(row[1:]) for row in self._run(sql, (first, last))}

    def _find_inserted(self, first: int, last: int) -> None:
        """Tell of the rows between two seals, where none was written."""
        if first > last:
            return
        sql = f"SELECT id FROM {self._table} WHERE id >= ? AND id <= ? ORDER BY id"  # noqa: S608 - our own words
        for (id_,) in self._run(f"{sql} LIMIT {MOST + 1}", (first, last)):
            self._tell_rows("inserted", id_, id_)

    def _examine_end(self, number: int) -> None:
        """Compare the end of the chain with the newest seal that was noted elsewhere."""
        noted = self._tail
        if noted.number > number:
            text = "were cut off the end, or the machine lost power and the disk the last second"
            self._tell("end missing", number + 1, noted.number, text)

    def _tell_rows(self, fault: Fault, first: int, last: int) -> None:
        what = "order" if self._log == "orders" else "call"
        texts = {
            "altered": f"{what} {first} is not as it was written",
            "removed": f"{what} {first} is missing",
            "inserted": f"{what} {first} is in no seal: inserted, or by a hub of an older version",
        }
        self._add(LogFault(self._log, fault, first, last, texts[fault]))

    def _tell(self, fault: Fault, first: int, last: int, what: str) -> None:
        which = f"seal {first}" if first == last else f"seals {first} to {last}"
        self._add(LogFault(self._log, fault, first, last, f"{which} of {self._log}: {what}"))

    def _add(self, fault: LogFault) -> None:
        if len(self._faults) < MOST:
            self._faults.append(fault)
        else:
            self._more += 1
