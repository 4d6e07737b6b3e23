"""The records of approvals: the launch of each server, and its parts as they were."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

import msgspec

from toolyard.core.model import Part
from toolyard.core.parts import words_hash
from toolyard.features.approvals.approved import (
    UNSEEN,
    PartApproval,
    ServerApprovals,
    approved_now,
    listed_as_new,
)
from toolyard.records.audit import audit_row, is_ordered, write_row
from toolyard.records.database import Database
from toolyard.records.follow import ChangeSignal
from toolyard.records.launch_approvals import LaunchApprovals, SqliteLaunches
from toolyard.records.places import RecordPlaces


class ApprovalStore(Protocol):
    """Approvals, in memory and written down; any thread may use them.

    The judge looks and notes from the event loop, so only `approve` may wait for a database.
    Every method raises StoreError if nothing can be read or written.
    """

    launches: LaunchApprovals
    changes: ChangeSignal
    """Told when somebody else may have approved something."""

    def get(self, server: str) -> ServerApprovals:
        """Return the approved parts of a server; none if it was never seen."""
        ...

    def definitions(self, server: str) -> dict[Part, bytes]:
        """Return the parts of a server as it gave them when they were approved, or first listed."""
        ...

    def approve(
        self,
        server: str,
        parts: Mapping[Part, bytes],
        *,
        loose: Collection[Part] = (),
        gone: Collection[Part] = (),
        by: str = "",
    ) -> None:
        """Let these definitions count from now on, and `gone` no more; others stay as they were.

        Of what is `loose`, descriptions and titles may change.
        """
        ...

    def note_first(self, server: str, parts: Mapping[Part, bytes]) -> None:
        """Let the first offers of a server count, unless others were first."""
        ...

    def note_new(self, server: str, parts: Mapping[Part, bytes], offered: Collection[Part]) -> None:
        """Remember parts that came later and are listed."""
        ...

    def note_text(self, server: str, part: Part, mark: str, raw: bytes) -> None:
        """Remember that another text was seen in the place of an approved one."""
        ...


class SqliteApprovals:
    """Approvals as rows of the hub's database, read once and written through; `ApprovalStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.launches: LaunchApprovals = SqliteLaunches(database)
        self.changes = ChangeSignal()
        self._guard = threading.Lock()
        self._servers: dict[str, ServerApprovals] = {}
        sql = "SELECT server, kind, key, hash, approved_at, last, words, turns FROM pinned_parts"
        for server, kind, key, mark, approved_at, last, words, turns in database.read(sql):
            approval = PartApproval(mark, approved_at != UNSEEN, last, tuple(words.split()), turns)
            self._servers.setdefault(server, ServerApprovals()).parts[kind, key] = approval

    def get(self, server: str) -> ServerApprovals:
        """Return the approved parts of a server."""
        return self._servers.get(server) or ServerApprovals()

    def definitions(self, server: str) -> dict[Part, bytes]:
        """Return the parts of a server as it gave them."""
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
        by: str = "",
    ) -> None:
        """Let these definitions count from now on, and `gone` no more."""
        with self._guard:
            approvals = approved_now(parts, self.get(server).parts, loose)
            self._write(server, parts, approvals, time.time(), gone)

    def note_first(self, server: str, parts: Mapping[Part, bytes]) -> None:
        """Let the first offers of a server count."""
        self.approve(server, parts)

    def note_new(self, server: str, parts: Mapping[Part, bytes], offered: Collection[Part]) -> None:
        """Remember parts that came later and are listed."""
        with self._guard:
            approvals, gone = listed_as_new(parts, self.get(server).parts, offered)
            if approvals:
                self._write(server, parts, approvals, UNSEEN, gone)

    def note_text(self, server: str, part: Part, mark: str, raw: bytes) -> None:
        """Remember that another text was seen in the place of an approved one."""
        with self._guard:
            approvals = self._servers[server].parts
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
        left = frozenset(gone)
        with self._database.change() as connection:
            connection.executemany(leave, [(server, *part) for part in left])
            connection.executemany(sql, rows)
            for part in (*left, *approvals) if is_ordered() else ():
                before, after = self.get(server).parts.get(part), approvals.get(part)
                plain = msgspec.to_builtins(before), msgspec.to_builtins(after)
                write_row(connection, audit_row(f"approval {server}", " ".join(part), *plain))
        standing = {p: old for p, old in self.get(server).parts.items() if p not in left}
        # Another one, for whoever reads the former at this moment.
        self._servers[server] = ServerApprovals({**standing, **approvals})


def open_approvals(places: RecordPlaces, database: Database | None) -> ApprovalStore | None:
    """Open what was approved: by all hubs of a team, or at this one; None if nothing can tell."""
    if places.shared is not None:
        from toolyard.features.approvals.shared import SharedApprovals

        return SharedApprovals(places.shared)
    return SqliteApprovals(database) if database is not None else None
