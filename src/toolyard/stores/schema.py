"""The tables of the hub's database, in the order in which they came to be.

A migration that was released is never changed; what is new is appended.
"""

from __future__ import annotations

from typing import Final

from toolyard.stores import pins

# One row per call that is over, in order of time. No index beside the key: each would be paid for
# with every call, while questions are rare and may well read all the rows there can be.
_CALLS: Final = """
CREATE TABLE calls (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    agent TEXT NOT NULL,
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    ms REAL NOT NULL,
    asked INTEGER NOT NULL,
    answered INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    error TEXT,
    arguments BLOB,
    result BLOB
);
"""

MIGRATIONS: Final[tuple[str, ...]] = (_CALLS, pins.MIGRATION)
