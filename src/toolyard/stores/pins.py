"""Which launch and which parts of each server were approved, and as what."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from toolyard.core.model import Part
from toolyard.core.parts import LOOSE, loose_hash, part_hash, words_hash
from toolyard.records.database import Database

MIGRATION: Final = """
CREATE TABLE pinned_tools (
    server TEXT NOT NULL, tool TEXT NOT NULL, hash TEXT NOT NULL, raw BLOB NOT NULL,
    approved_at REAL NOT NULL, PRIMARY KEY (server, tool)
);
CREATE TABLE pinned_launches (
    server TEXT PRIMARY KEY, hash TEXT NOT NULL, approved_at REAL NOT NULL
)
"""
# `last` is the mark of the text that was seen last; `words`, with blanks between, stand for the
# texts seen since the approval, in whatever order their words come; `turns` counts returns.
PARTS_MIGRATION: Final = """
CREATE TABLE pinned_parts (
    server TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, hash TEXT NOT NULL,
    raw BLOB NOT NULL, approved_at REAL NOT NULL, last TEXT NOT NULL, words TEXT NOT NULL,
    turns INTEGER NOT NULL, PRIMARY KEY (server, kind, key)
);
INSERT INTO pinned_parts
    SELECT server, 'tools', tool, hash, raw, approved_at, hash, '', 0 FROM pinned_tools;
DROP TABLE pinned_tools
"""
TURNS: Final = 2
"""Returns to an earlier text after which a part is called restless."""
TEXTS: Final = 4
"""Other texts since the approval after which it is, too."""
RESOURCES: Final = 2000
"""Resources of one server that are remembered; beyond that those that are gone are forgotten."""

_UNSEEN: Final = 0.0
"""In place of a time: listed because it was new, and nobody has looked."""


@dataclass(slots=True)
class Pin:
    """What is remembered of one part."""

    mark: str
    is_seen: bool = True
    """Whether somebody looked at it, or it was there first; else it is listed because it is new."""
    last: str = ""
    words: tuple[str, ...] = ()
    turns: int = 0

    @property
    def is_restless(self) -> bool:
        """Whether its text changes again and again, and nobody said that it may."""
        often = self.turns >= TURNS or len(self.words) > TEXTS
        return often and not self.mark.startswith(LOOSE)

    def turned(self, mark: str, words: str) -> Pin:
        """The same after another text was seen."""
        is_back = words in self.words
        seen = self.words if is_back else (*self.words, words)[-2 * TEXTS :]
        return Pin(self.mark, self.is_seen, mark, seen, self.turns + is_back)


@dataclass(slots=True)
class Pinned:
    """What was approved of one server."""

    launch: str = ""
    parts: dict[Part, Pin] = field(default_factory=dict)

    @property
    def marks(self) -> dict[Part, str]:
        """What stands for each part as it was approved."""
        return {part: pin.mark for part, pin in self.parts.items()}

    @property
    def unseen(self) -> frozenset[Part]:
        """The parts that came later and are listed, though nobody has looked at them yet."""
        return frozenset(part for part, pin in self.parts.items() if not pin.is_seen)

    @property
    def restless(self) -> frozenset[Part]:
        """The parts whose text changes again and again."""
        return frozenset(part for part, pin in self.parts.items() if pin.is_restless)

    @property
    def loose(self) -> frozenset[Part]:
        """The parts of which any text was approved."""
        return frozenset(p for p, pin in self.parts.items() if pin.mark.startswith(LOOSE))

    @property
    def has_offers(self) -> bool:
        """Whether it was ever seen to offer something."""
        return any(kind != "instructions" for kind, _ in self.parts)


class PinStore:
    """Approvals, read once and kept in step; written through at once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._pinned: dict[str, Pinned] = {}
        sql = "SELECT server, kind, key, hash, approved_at, last, words, turns FROM pinned_parts"
        for server, kind, key, mark, approved_at, last, words, turns in database.read(sql):
            pin = Pin(mark, approved_at != _UNSEEN, last, tuple(words.split()), turns)
            self._of(server).parts[kind, key] = pin
        for server, mark in database.read("SELECT server, hash FROM pinned_launches"):
            self._of(server).launch = mark

    def _of(self, server: str) -> Pinned:
        return self._pinned.setdefault(server, Pinned())

    def get(self, server: str) -> Pinned:
        """What was approved of a server; nothing if it was never seen."""
        return self._pinned.get(server) or Pinned()

    def definitions(self, server: str) -> dict[Part, bytes]:
        """The parts of a server as it gave them when they were approved, or first listed."""
        sql = "SELECT kind, key, raw FROM pinned_parts WHERE server = ? ORDER BY kind, key"
        rows = self._database.read(sql, (server,))
        return {(kind, key): bytes(raw) for kind, key, raw in rows}

    def approve(
        self,
        server: str,
        parts: Mapping[Part, bytes],
        *,
        loose: Collection[Part] = (),
        gone: Collection[Part] = (),
    ) -> None:
        """Let these definitions count from now on, and `gone` no more; others stay as they were.

        Of what is `loose`, descriptions and titles may change.
        """
        before = self.get(server).parts
        parts = _few(parts)
        pins = {}
        for part, raw in parts.items():
            mark = (loose_hash if part in loose else part_hash)(part, raw)
            turns = before[part].turns if part in before and part not in loose else 0
            pins[part] = Pin(mark, True, part_hash(part, raw), (words_hash(raw),), turns)
        self._write(server, parts, pins, time.time(), gone)

    def note_new(self, server: str, parts: Mapping[Part, bytes], offered: Collection[Part]) -> None:
        """Remember parts that came later and are listed.

        Of resources, which some servers have ever new ones of, those that are not offered any more
        are forgotten when there are too many.
        """
        known = [part for part in self.get(server).parts if part[0] == "resources"]
        gone = []
        if len(known) + sum(part[0] == "resources" for part in parts) > RESOURCES:
            gone = [part for part in known if part not in offered]
        pins = {}
        for part, raw in _few(parts, RESOURCES - len(known) + len(gone)).items():
            mark = part_hash(part, raw)
            pins[part] = Pin(mark, False, mark, (words_hash(raw),))
        if pins:
            self._write(server, parts, pins, _UNSEEN, gone)

    def note_text(self, server: str, part: Part, mark: str, raw: bytes) -> None:
        """Remember that another text was seen in the place of an approved one."""
        pins = self._of(server).parts
        pin = pins[part] = pins[part].turned(mark, words_hash(raw))
        if self._database.is_read_only:
            return
        sql = "UPDATE pinned_parts SET last = ?, words = ?, turns = ?"
        where = " WHERE server = ? AND kind = ? AND key = ?"
        self._database.write(sql + where, (pin.last, " ".join(pin.words), pin.turns, server, *part))

    def _write(
        self,
        server: str,
        parts: Mapping[Part, bytes],
        pins: Mapping[Part, Pin],
        at: float,
        gone: Iterable[Part],
    ) -> None:
        rows = [
            (server, *part, pin.mark, parts[part], at, pin.last, " ".join(pin.words), pin.turns)
            for part, pin in pins.items()
        ]
        sql = "INSERT OR REPLACE INTO pinned_parts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        leave = "DELETE FROM pinned_parts WHERE server = ? AND kind = ? AND key = ?"
        left = tuple(gone)
        with self._database.change() as connection:
            connection.executemany(leave, [(server, *part) for part in left])
            connection.executemany(sql, rows)
        kept = self._of(server).parts
        for part in left:
            kept.pop(part, None)
        kept |= pins

    def approve_launch(self, server: str, mark: str) -> None:
        """Let this way to start the server count from now on."""
        sql = "INSERT OR REPLACE INTO pinned_launches VALUES (?, ?, ?)"
        self._database.write(sql, (server, mark, time.time()))
        self._of(server).launch = mark

    def reread_launch(self, server: str) -> str:
        """The approved way to start a server, as another process may have left it just now."""
        sql = "SELECT hash FROM pinned_launches WHERE server = ?"
        rows = self._database.read(sql, (server,))
        if rows:
            self._of(server).launch = rows[0][0]
        return self._of(server).launch


def _few(parts: Mapping[Part, bytes], most: int = RESOURCES) -> dict[Part, bytes]:
    """The same parts with so many resources at most."""
    surplus = {*[part for part in parts if part[0] == "resources"][most:]}
    return {part: raw for part, raw in parts.items() if part not in surplus}
