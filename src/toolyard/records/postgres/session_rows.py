"""The rows of sessions: those that are over, and the notes of those that are not.

Whoever follows asks for what is newer than the last time, and for a little more: a transaction
that began earlier may have ended later.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import Final

from toolyard.records.postgres.connections import Connection

OVERLAP_SECONDS: Final = 30
"""Longer than a transaction may take."""
MOST_ENDED: Final = 100_000
"""Sessions that are read at once; of more, the newest."""

_NOW: Final = "SELECT clock_timestamp()"
_END: Final = """
INSERT INTO ended_sessions (session, until)
VALUES (%s, clock_timestamp() + make_interval(secs => %s)) ON CONFLICT DO NOTHING
"""
_ENDED: Final = """
SELECT session, extract(epoch FROM until - clock_timestamp())::float FROM ended_sessions
WHERE at > %s - make_interval(secs => %s) AND until > clock_timestamp()
ORDER BY at DESC LIMIT %s
"""
_NOTE: Final = "SELECT note::text FROM session_notes WHERE principal = %s"
_PUT_NOTE: Final = """
INSERT INTO session_notes (principal, note, at, until)
VALUES (%s, %s, clock_timestamp(), clock_timestamp() + make_interval(secs => %s))
ON CONFLICT (principal) DO UPDATE
SET note = excluded.note, at = excluded.at, until = excluded.until
"""
_LOCK_NOTE: Final = "SELECT pg_advisory_xact_lock(hashtextextended('note ' || %s, 0))"
_CHANGED: Final = """
SELECT principal, note::text FROM session_notes
WHERE at > %s - make_interval(secs => %s) AND principal = ANY(%s)
"""
BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""The mark of whoever has read nothing yet."""


def read_mark(connection: Connection) -> datetime:
    """The database's time, to ask for what is newer the next time."""
    row = connection.execute(_NOW).fetchone()
    assert row is not None
    mark: datetime = row[0]
    return mark


def end_sessions(connection: Connection, sessions: Mapping[bytes, float]) -> None:
    """Keep that sessions are over, each for so many seconds."""
    with connection.cursor() as cursor:
        cursor.executemany(_END, list(sessions.items()))


def read_ended(connection: Connection, after: datetime) -> dict[bytes, float]:
    """The sessions that were ended after a mark, and the seconds for which that matters."""
    rows = connection.execute(_ENDED, (after, OVERLAP_SECONDS, MOST_ENDED)).fetchall()
    return dict(rows)


def read_note(connection: Connection, principal: str) -> str | None:
    """The note of a session."""
    row = connection.execute(_NOTE, (principal,)).fetchone()
    return row[0] if row else None


def change_note(
    connection: Connection, principal: str, change: Callable[[str | None], str], seconds: float
) -> str:
    """Change the note of a session; nobody else does at the same time. Return the new one."""
    connection.execute(_LOCK_NOTE, (principal,))
    note = change(read_note(connection, principal))
    connection.execute(_PUT_NOTE, (principal, note, seconds))
    return note


def read_changed_notes(
    connection: Connection, principals: Collection[str], after: datetime
) -> dict[str, str]:
    """Those of some sessions' notes that changed after a mark."""
    rows = connection.execute(_CHANGED, (after, OVERLAP_SECONDS, list(principals))).fetchall()
    return dict(rows)
