"""The call log, and calls as older versions kept them, made plain rows of it.

First each was a row of `calls`; then many were packed into one as MessagePack, without and later
with who made them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any, Final

import msgspec

# Calls in the order in which they ended. What a search looks at stands before the bodies, so that
# it need not read over them; an index would cost more with every call than searches gain.
_CALL_LOG: Final = """
CREATE TABLE call_log (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    agent TEXT NOT NULL,
    caller TEXT NOT NULL,
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    ms REAL NOT NULL,
    asked INTEGER NOT NULL,
    answered INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    error TEXT NOT NULL,
    arguments TEXT,
    result TEXT
)
"""
CALL_STARTS: Final = "ALTER TABLE call_log ADD COLUMN start_ms REAL NOT NULL DEFAULT 0"
"""The part of a call's time in which its server had yet to start."""
CALL_WAITS: Final = """
ALTER TABLE call_log ADD COLUMN person_at_ms REAL NOT NULL DEFAULT 0;
ALTER TABLE call_log ADD COLUMN person_ms REAL NOT NULL DEFAULT 0
"""
"""The part of a call's time in which its server waited for an answer to a question, and when that
began."""
CALL_ORIGINS: Final = """
ALTER TABLE call_log ADD COLUMN member TEXT NOT NULL DEFAULT '';
ALTER TABLE call_log ADD COLUMN token TEXT NOT NULL DEFAULT '';
ALTER TABLE call_log ADD COLUMN address TEXT NOT NULL DEFAULT ''
"""
"""The member who made a call, the mark of their own token, and the address they called from."""
PACKED: Final = 7
"""Values of a packed call that ended well, before its caller was one of them."""
_INSERT: Final = "INSERT INTO call_log VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_COPY: Final = """
INSERT INTO call_log
SELECT id, at, agent, '', server, tool, ms, asked, answered, outcome, coalesce(error, ''),
    CAST(arguments AS TEXT), CAST(result AS TEXT)
FROM calls
"""
_unpack_bodies: Final = msgspec.msgpack.Decoder(list[tuple[int, bytes, bytes]]).decode
_unpack: Final = msgspec.msgpack.Decoder(list[list[Any]]).decode


def unpack_calls(connection: sqlite3.Connection) -> None:
    """Move what stands in `calls`, whichever shape it has, to the call log."""
    connection.execute(_CALL_LOG)
    columns = [row[1] for row in connection.execute("PRAGMA table_info(calls)")]
    if "id" in columns:
        connection.execute(_COPY)
    else:
        batches = connection.execute("SELECT first, epoch, rows, bodies FROM calls ORDER BY first")
        connection.executemany(_INSERT, _rows(batches))
    connection.execute("DROP TABLE calls")


def _rows(batches: sqlite3.Cursor) -> Iterator[tuple[Any, ...]]:
    for first, epoch, packed, packed_bodies in batches:
        bodies = {
            place: (arguments.decode(), result.decode())
            for place, arguments, result in (_unpack_bodies(packed_bodies) if packed_bodies else ())
        }
        for place, call in enumerate(_unpack(packed)):
            yield (first + place, *_values(epoch, call), *bodies.get(place, (None, None)))


def _values(epoch: float, call: list[Any]) -> tuple[Any, ...]:
    """Read a packed call: two more values tell of one that did not end well."""
    has_caller = len(call) in (PACKED + 1, PACKED + 3)
    caller = call.pop(PACKED) if has_caller else ""
    agent, server, tool, began, ended, asked, answered, *ending = call
    outcome, error = ending or ("ok", "")
    ms = round((ended - began) * 1000, 3)
    return (epoch + began, agent, caller, server, tool, ms, asked, answered, outcome, error)
