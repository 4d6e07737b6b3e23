"""The tables of the hub's database, in the order in which they came to be.

A migration that was released is never changed; what is new is appended.
"""

from __future__ import annotations

from typing import Final

from toolyard.records import addresses, audit, call_groups, sqlite
from toolyard.records.call_migrations import CALL_ORIGINS, CALL_STARTS, CALL_WAITS, unpack_calls
from toolyard.records.database import Migration
from toolyard.records.seals import chain

# Calls that are over as they were kept once, many to a row: `rows` and `bodies` are MessagePack,
# ids run on from `first`. The last word on them is `unpack_calls`.
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

_APPROVALS: Final = """
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
_APPROVED_PARTS: Final = """
CREATE TABLE pinned_parts (
    server TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, hash TEXT NOT NULL,
    raw BLOB NOT NULL, approved_at REAL NOT NULL, last TEXT NOT NULL, words TEXT NOT NULL,
    turns INTEGER NOT NULL, PRIMARY KEY (server, kind, key)
);
INSERT INTO pinned_parts
    SELECT server, 'tools', tool, hash, raw, approved_at, hash, '', 0 FROM pinned_tools;
DROP TABLE pinned_tools
"""

_SHARING: Final = """
CREATE TABLE sharing (
    server TEXT PRIMARY KEY, launch TEXT NOT NULL, verdict TEXT NOT NULL, evidence TEXT NOT NULL
)
"""
_ASKING: Final = """
CREATE TABLE asking (
    server TEXT PRIMARY KEY, launch TEXT NOT NULL, question TEXT NOT NULL, roots INTEGER NOT NULL
)
"""

# By which a database and its copies are known again; see records/state.py.
_IDENTITY: Final = """
CREATE TABLE identity (id TEXT NOT NULL);
INSERT INTO identity VALUES (lower(hex(randomblob(16))))
"""

# Steps that changed how calls were packed; `unpack_calls` reads what was there before them, too.
_PACKED_CALLS: Final = "SELECT 1"
_CALLERS: Final = "SELECT 1"

# An agent has the id of its client.
_QWEN: Final = """
UPDATE OR IGNORE roster SET key = 'qwen' WHERE key = 'qwen-code' AND kind IN ('agent', 'config');
UPDATE OR IGNORE roster SET key = 'qwen' || substr(key, 10)
    WHERE kind = 'override' AND key LIKE 'qwen-code %'
"""

MIGRATIONS: Final[tuple[Migration, ...]] = (
    _CALLS,
    _APPROVALS,
    sqlite.MIGRATION,
    _SHARING,
    _PACKED_CALLS,
    _ASKING,
    _IDENTITY,
    _CALLERS,
    addresses.MIGRATION,
    _APPROVED_PARTS,
    unpack_calls,
    CALL_STARTS,
    CALL_WAITS,
    _QWEN,
    audit.MIGRATION,
    f"{CALL_ORIGINS};{audit.ORIGINS};{chain.MIGRATION};{call_groups.SUMMARIES}",
    call_groups.MIGRATION,
)
