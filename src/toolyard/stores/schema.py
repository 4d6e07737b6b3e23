"""The tables of the hub's database, in the order in which they came to be.

A migration that was released is never changed; what is new is appended.
"""

from __future__ import annotations

from typing import Final

from toolyard.records.database import Migration
from toolyard.stores import addresses, agents, pins, sharing
from toolyard.stores.oldcalls import add_callers, pack_calls

# Calls that are over, many to a row: one row each would cost more than all the rest of recording.
# `rows` and `bodies` are MessagePack; see stores/taken.py. Ids run on from `first`.
_CALLS: Final = """
CREATE TABLE calls (
    first INTEGER PRIMARY KEY,
    number INTEGER NOT NULL,
    since REAL NOT NULL,
    until REAL NOT NULL,
    epoch REAL NOT NULL,
    rows BLOB NOT NULL,
    bodies BLOB
);
"""

# By which a database and its copies are known again; see stores/state.py.
_IDENTITY: Final = """
CREATE TABLE identity (id TEXT NOT NULL);
INSERT INTO identity VALUES (lower(hex(randomblob(16))))
"""

MIGRATIONS: Final[tuple[Migration, ...]] = (
    _CALLS,
    pins.MIGRATION,
    agents.MIGRATION,
    sharing.MIGRATION,
    pack_calls,
    sharing.ASKING_MIGRATION,
    _IDENTITY,
    add_callers,
    addresses.MIGRATION,
    pins.PARTS_MIGRATION,
)
