"""The records of approvals: the launch of each server, and its parts as they were."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from toolyard.core.model import Part
from toolyard.core.parts import LOOSE, loose_hash, part_hash, words_hash
from toolyard.records.database import Database
from toolyard.records.launch_approvals import LaunchApprovals

TURNS: Final = 2
"""Returns to an earlier text after which a part is called restless."""
TEXTS: Final = 4
"""Other texts since the approval after which it is, too."""
RESOURCES: Final = 2000
"""Resources of one server that are remembered; beyond that those that are gone are forgotten."""

_UNSEEN: Final = 0.0
"""In place of a time: listed because it was new, and nobody has looked."""


@dataclass(slots=True)
class PartApproval:
    """The approval of one part, and the texts that were seen since."""

    mark: str
    is_seen: bool = True
    """Somebody looked at it, or it was there first; else it is listed because it is new."""
    last: str = ""
    words: tuple[str, ...] = ()
    turns: int = 0

    @property
    def is_restless(self) -> bool:
        """True if its text changes again and again, and nobody said that it may."""
        often = self.turns >= TURNS or len(self.words) > TEXTS
        return often and not self.mark.startswith(LOOSE)

    def turned(self, mark: str, words: str) -> PartApproval:
        """Return the same after another text was seen."""
        is_back = words in self.words
        texts = self.words if is_back else (*self.words, words)[-2 * TEXTS :]
        return PartApproval(self.mark, self.is_seen, mark, texts, self.turns + is_back)


@dataclass(slots=True)
class ServerApprovals:
    """The approved parts of one server."""

    parts: dict[Part, PartApproval] = field(default_factory=dict)

    @property
    def marks(self) -> dict[Part, str]:
        """The mark of each part as it was approved."""
        return {part: approval.mark for part, approval in self.parts.items()}

    @property
    def unseen(self) -> frozenset[Part]:
        """The parts that came later and are listed, though nobody has looked at them yet."""
        return frozenset(part for part, approval in self.parts.items() if not approval.is_seen)

    @property
    def restless(self) -> frozenset[Part]:
        """The parts whose text changes again and again."""
        return frozenset(part for part, approval in self.parts.items() if approval.is_restless)

    @property
    def loose(self) -> frozenset[Part]:
        """The parts of which any text was approved."""
        approvals = self.parts.items()
        return frozenset(part for part, approval in approvals if approval.mark.startswith(LOOSE))

    @property
    def has_offers(self) -> bool:
        """True if it was ever seen to offer something."""
        return any(kind != "instructions" for kind, _ in self.parts)


class ApprovalStore:
    """Approvals, read once and kept in step; written through at once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.launches = LaunchApprovals(database)
        self._servers: dict[str, ServerApprovals] = {}
        sql = "SELECT server, kind, key, hash, approved_at, last, words, turns FROM pinned_parts"
        for server, kind, key, mark, approved_at, last, words, turns in database.read(sql):
            is_seen = approved_at != _UNSEEN
            approval = PartApproval(mark, is_seen, last, tuple(words.split()), turns)
            self._of(server).parts[kind, key] = approval

    def _of(self, server: str) -> ServerApprovals:
        return self._servers.setdefault(server, ServerApprovals())

    def get(self, server: str) -> ServerApprovals:
        """Return the approved parts of a server; none if it was never seen."""
        return self._servers.get(server) or ServerApprovals()

    def definitions(self, server: str) -> dict[Part, bytes]:
        """Return the parts of a server as it gave them when they were approved, or first listed."""
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
        approvals = {}
        for part, raw in parts.items():
            mark = (loose_hash if part in loose else part_hash)(part, raw)
            turns = before[part].turns if part in before and part not in loose else 0
            text = part_hash(part, raw)
            approvals[part] = PartApproval(mark, True, text, (words_hash(raw),), turns)
        self._write(server, parts, approvals, time.time(), gone)

    def note_new(self, server: str, parts: Mapping[Part, bytes], offered: Collection[Part]) -> None:
        """Remember parts that came later and are listed.

        Of resources, which some servers have ever new ones of, those that are not offered any more
        are forgotten when there are too many.
        """
        resources = [part for part in self.get(server).parts if part[0] == "resources"]
        gone = []
        if len(resources) + sum(part[0] == "resources" for part in parts) > RESOURCES:
            gone = [part for part in resources if part not in offered]
        approvals = {}
        for part, raw in _few(parts, RESOURCES - len(resources) + len(gone)).items():
            mark = part_hash(part, raw)
            approvals[part] = PartApproval(mark, False, mark, (words_hash(raw),))
        if approvals:
            self._write(server, parts, approvals, _UNSEEN, gone)

    def note_text(self, server: str, part: Part, mark: str, raw: bytes) -> None:
        """Remember that another text was seen in the place of an approved one."""
        approvals = self._of(server).parts
        approval = approvals[part] = approvals[part].turned(mark, words_hash(raw))
        if self._database.is_read_only:
            return
        sql = "UPDATE pinned_parts SET last = ?, words = ?, turns = ?"
        where = " WHERE server = ? AND kind = ? AND key = ?"
        texts = approval.last, " ".join(approval.words), approval.turns
        self._database.write(sql + where, (*texts, server, *part))

    def _write(
        self,
        server: str,
        parts: Mapping[Part, bytes],
        approvals: Mapping[Part, PartApproval],
        at: float,
        gone: Iterable[Part],
    ) -> None:
        rows = [
            (server, *part, new.mark, parts[part], at, new.last, " ".join(new.words), new.turns)
            for part, new in approvals.items()
        ]
        sql = "INSERT OR REPLACE INTO pinned_parts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        leave = "DELETE FROM pinned_parts WHERE server = ? AND kind = ? AND key = ?"
        left = tuple(gone)
        with self._database.change() as connection:
            connection.executemany(leave, [(server, *part) for part in left])
            connection.executemany(sql, rows)
        standing = self._of(server).parts
        for part in left:
            standing.pop(part, None)
        standing |= approvals


def _few(parts: Mapping[Part, bytes], most: int = RESOURCES) -> dict[Part, bytes]:
    """Return the same parts with so many resources at most."""
    surplus = {*[part for part in parts if part[0] == "resources"][most:]}
    return {part: raw for part, raw in parts.items() if part not in surplus}
