"""An order under way: one transaction of a shared database, with a revision of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from toolyard.records.audit import audit_row, is_ordered, prune_orders, seal_order
from toolyard.records.postgres.connections import Connection, postgres_run
from toolyard.records.protocol import ABSENT

_VERSION: Final = "SELECT version FROM records WHERE kind = %s AND key = %s AND value IS NOT NULL"
_VALUE: Final = "SELECT value::text FROM records WHERE kind = %s AND key = %s AND value IS NOT NULL"
_NOTE: Final = """
INSERT INTO audit (
    at, by, address, verb, kind, key, before, after, agent, member, token, replica
)
VALUES (extract(epoch FROM clock_timestamp()), %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
RETURNING id, at
"""
_ROWS: Final = "SELECT key, value::text FROM records WHERE kind = %s AND value IS NOT NULL"
_PUT: Final = """
INSERT INTO records (kind, key, value, version, by) VALUES (%s, %s, %s, %s, %s)
ON CONFLICT (kind, key) DO UPDATE
SET value = excluded.value, version = excluded.version, by = excluded.by, at = now()
"""
_PUT_NEW: Final = f"{_PUT} WHERE records.value IS NULL"
_DELETE: Final = """
UPDATE records SET value = NULL, version = %s, by = %s, at = now()
WHERE kind = %s AND key = %s AND value IS NOT NULL
"""
_PLAIN: Final = 200
"""Characters of a name that is used as it is."""


class RecordOrder:
    """An order under way; nobody can change a record before it is over."""

    def __init__(self, connection: Connection, revision: int, by: str) -> None:
        self.connection = connection
        self.revision = revision
        """The version of every record that it writes."""
        self._by = by

    def version(self, kind: str, key: str) -> int:
        """The version a record is at."""
        row = self.connection.execute(_VERSION, (kind, key)).fetchone()
        return int(row[0]) if row else ABSENT

    def rows(self, kind: str) -> dict[str, str]:
        """The JSON texts of all records of a kind, by key."""
        return dict(self.connection.execute(_ROWS, (kind,)).fetchall())

    def put(self, kind: str, key: str, text: str | None, name: str = "") -> None:
        """Write a record as JSON text, or delete it.

        `name` is what people call it, if its key does not say.
        """
        if is_ordered():
            self._audit(kind, key, text, name or key)
        if text is None:
            self.connection.execute(_DELETE, (self.revision, self._by, kind, key))
        else:
            self.connection.execute(_PUT, (kind, key, text, self.revision, self._by))

    def _audit(self, kind: str, key: str, text: str | None, name: str) -> None:
        """Add the change to the audit trail."""
        present = self.connection.execute(_VALUE, (kind, key)).fetchone()
        before = msgspec.json.decode(present[0]) if present else None
        after = None if text is None else msgspec.json.decode(text)
        row = audit_row(kind, name, before, after)
        if row is not None:
            noted = self.connection.execute(_NOTE, row[1:]).fetchone()
            assert noted is not None
            run = postgres_run(self.connection)
            seal_order(run, noted[0], (noted[1], *row[1:]))
            prune_orders(run)

    def put_new(self, kind: str, texts: Mapping[str, str]) -> None:
        """Write records as JSON texts, by key, each unless there is one."""
        rows = [(kind, key, text, self.revision, self._by) for key, text in texts.items()]
        self.connection.cursor().executemany(_PUT_NEW, rows)


WriteNote = Callable[[RecordOrder], None]
"""Writes a note within an order; it may be tried several times."""


def safe_name(name: str) -> str:
    """Return a name that the database takes as a key, or as part of one, for any name at all."""
    if len(name) <= _PLAIN and name.isprintable():
        return name
    return f"#{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()}"
