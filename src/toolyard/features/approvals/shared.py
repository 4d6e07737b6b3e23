"""Approvals as records of a database that hubs share.

Every part is a record of its own, so that of two hubs that see a server for the first time one is
first. What the judge notes counts at once in this hub, and is written soon; if another hub was
quicker, its word counts, and the picture is judged anew.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from toolyard.core.errors import StoreError
from toolyard.core.model import Kind, Part
from toolyard.core.parts import words_hash
from toolyard.features.approvals.approved import (
    UNSEEN,
    PartApproval,
    ServerApprovals,
    approved_now,
    listed_as_new,
)
from toolyard.records.launch_approvals import LaunchApprovals
from toolyard.records.postgres.launches import KIND as LAUNCH
from toolyard.records.postgres.launches import SharedLaunches
from toolyard.records.postgres.order import RecordOrder, WriteNote, safe_name

if TYPE_CHECKING:
    from toolyard.records.postgres.outbox import SentNote
    from toolyard.records.postgres.shared import SharedDatabase

FAMILY: Final = "approval"
"""The first word of the kinds of these records; the second is the server."""


class StoredPart(msgspec.Struct, frozen=True):
    """One part of a server as its record has it."""

    kind: Kind
    key: str
    raw: bytes
    at: float
    approval: PartApproval

    @property
    def part(self) -> Part:
        """The part that it is."""
        return (self.kind, self.key)


Rows = Mapping[Part, StoredPart]
Note = Callable[[Rows], Mapping[Part, StoredPart | None]]
"""Returns the parts of a server that are others after it; None stands for one that is gone."""
_decode: Final = msgspec.json.Decoder(StoredPart).decode


class SharedApprovals:
    """Approvals of all hubs, followed into memory; see `ApprovalStore`."""

    def __init__(self, database: SharedDatabase) -> None:
        self._database = database
        self.launches: LaunchApprovals = SharedLaunches(database)
        self.changes = database.follow_family(FAMILY, LAUNCH)
        self._lock = threading.Lock()
        self._notes: dict[str, list[tuple[Note, SentNote[WriteNote]]]] = {}
        """By server: what was noted and is not known to be in the database."""
        self._decoded: dict[str, tuple[Mapping[str, tuple[str, int]], Rows]] = {}
        self._servers: dict[str, tuple[Rows, ServerApprovals]] = {}

    def get(self, server: str) -> ServerApprovals:
        """Return the approved parts of a server, with what is noted and not written yet."""
        rows = self._rows(server)
        before, approvals = self._servers.get(server, (None, ServerApprovals()))
        if before is not rows:
            approvals = ServerApprovals(_approvals(rows))
            self._servers[server] = (rows, approvals)
        return approvals

    def definitions(self, server: str) -> dict[Part, bytes]:
        """Return the parts of a server as it gave them."""
        return {part: row.raw for part, row in sorted(self._rows(server).items())}

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
        with self._database.order(by) as order:
            # What was noted before belongs to what was looked at.
            for note, _ in self._pending(server):
                _write(order, server, note)
            before = _approvals(_read(order, server))
            approvals = approved_now(parts, before, loose)
            changes = {**dict.fromkeys(gone), **_stored(parts, approvals, time.time())}
            _write(order, server, lambda _: changes)

    def note_first(self, server: str, parts: Mapping[Part, bytes]) -> None:
        """Let the first offers of a server count, unless others were first."""
        stored = _stored(parts, approved_now(parts, {}), time.time())

        def note(rows: Rows) -> Mapping[Part, StoredPart | None]:
            return {} if ServerApprovals(_approvals(rows)).has_offers else _absent(stored, rows)

        self._note(server, note, len(stored))

    def note_new(self, server: str, parts: Mapping[Part, bytes], offered: Collection[Part]) -> None:
        """Remember parts that came later and are listed."""
        approvals, gone = listed_as_new(parts, self.get(server).parts, offered)
        stored = _stored(parts, approvals, UNSEEN)

        def note(rows: Rows) -> Mapping[Part, StoredPart | None]:
            return {**dict.fromkeys(part for part in gone if part in rows), **_absent(stored, rows)}

        if stored:
            self._note(server, note, len(stored))

    def note_text(self, server: str, part: Part, mark: str, raw: bytes) -> None:
        """Remember that another text was seen, until it is known that it changes often."""
        words = words_hash(raw)

        def note(rows: Rows) -> Mapping[Part, StoredPart | None]:
            row = rows.get(part)
            if row is None or row.approval.last == mark or row.approval.is_restless:
                return {}
            turned = row.approval.turned(mark, words)
            return {part: msgspec.structs.replace(row, approval=turned)}

        if not self.get(server).parts[part].is_restless:
            self._note(server, note, 1)

    def _note(self, server: str, note: Note, weight: int) -> None:
        with self._lock:
            sent = self._database.outbox.add(lambda order: _write(order, server, note), weight)
            self._notes[server] = [*self._notes.get(server, ()), (note, sent)]

    def _pending(self, server: str) -> list[tuple[Note, SentNote[WriteNote]]]:
        """The notes about a server that what is known of the database does not have."""
        notes = self._notes.get(server)
        if not notes:
            return []
        revision = self._database.revision
        left = [
            (note, sent)
            for note, sent in notes
            if sent.revision is None or sent.revision > revision
        ]
        if len(left) < len(notes):
            with self._lock:
                gone = {id(sent) for _, sent in notes} - {id(sent) for _, sent in left}
                self._notes[server] = [n for n in self._notes[server] if id(n[1]) not in gone]
        return left

    def _rows(self, server: str) -> Rows:
        """The parts of a server as they count in this hub; the same object while they do."""
        notes = self._pending(server)
        texts = self._database.read().rows(_kind(server))
        before, rows = self._decoded.get(server, ({}, {}))
        if before is not texts:
            rows = _parts(text for text, _ in texts.values())
            self._decoded[server] = (texts, rows)
        for note, _ in notes:
            rows = _after(rows, note(rows))
        return rows


def _kind(server: str) -> str:
    """The kind of the records of one server."""
    return f"{FAMILY} {safe_name(server)}"


def _key(part: Part) -> str:
    """The key of a part: short, whatever a server calls it."""
    return hashlib.sha256("\0".join(part).encode("utf-8", "surrogatepass")).hexdigest()


def _parts(texts: Iterable[str]) -> Rows:
    try:
        stored = [_decode(text) for text in texts]
    except msgspec.DecodeError as error:
        raise StoreError(f"an approval in the database cannot be read: {error}") from error
    return {row.part: row for row in stored}


def _approvals(rows: Rows) -> dict[Part, PartApproval]:
    return {part: row.approval for part, row in rows.items()}


def _stored(
    parts: Mapping[Part, bytes], approvals: Mapping[Part, PartApproval], at: float
) -> dict[Part, StoredPart]:
    for _, key in approvals:
        if not _is_text(key):
            raise StoreError(f"{key[:80]!r} is no name that can be written down")
    return {p: StoredPart(*p, parts[p], at, approval) for p, approval in approvals.items()}


def _is_text(key: str) -> bool:
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True


def _absent(stored: Rows, rows: Rows) -> dict[Part, StoredPart]:
    return {part: row for part, row in stored.items() if part not in rows}


def _after(rows: Rows, changes: Mapping[Part, StoredPart | None]) -> Rows:
    merged = {**rows, **changes}
    return {part: row for part, row in merged.items() if row is not None} if changes else rows


def _read(order: RecordOrder, server: str) -> Rows:
    return _parts(order.rows(_kind(server)).values())


def _write(order: RecordOrder, server: str, note: Note) -> None:
    """Write what a note makes of the parts of a server as they are now, whoever wrote them."""
    for part, row in note(_read(order, server)).items():
        text = None if row is None else msgspec.json.encode(row).decode()
        order.put(_kind(server), _key(part), text, " ".join(part))
