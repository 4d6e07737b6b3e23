"""Approved launches as records of a shared database."""

from __future__ import annotations

import threading
from typing import Final

import msgspec

from toolyard.records.postgres.order import RecordOrder, WriteNote, safe_name
from toolyard.records.postgres.outbox import SentNote
from toolyard.records.postgres.shared import SharedDatabase

KIND: Final = "launch"


class SharedLaunches:
    """Approved launches of all hubs; see `LaunchApprovals`."""

    def __init__(self, database: SharedDatabase) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._notes: dict[str, tuple[str, SentNote[WriteNote]]] = {}
        """First launches on their way to the database."""

    def get(self, server: str) -> str:
        """Return the approved way to start a server."""
        row = self._database.read().rows(KIND).get(safe_name(server))
        if row is not None:
            return msgspec.json.decode(row[0], type=str)
        mark, _ = self._notes.get(server, ("", None))
        return mark

    def reread(self, server: str) -> str:
        """Return the same: the database tells of changes."""
        return self.get(server)

    def approve(self, server: str, mark: str, *, by: str = "") -> None:
        """Let this way to start a server count from now on."""
        with self._database.order(by) as order:
            order.put(KIND, safe_name(server), _text(mark))

    def note_first(self, server: str, mark: str) -> None:
        """Let the first way to start a server count, unless another was first."""

        def write(order: RecordOrder) -> None:
            order.put_new(KIND, {safe_name(server): _text(mark)})

        with self._lock:
            if server not in self._notes:
                self._notes[server] = (mark, self._database.outbox.add(write))


def _text(mark: str) -> str:
    return msgspec.json.encode(mark).decode()
