"""Records as rows of the hub's database, each with a version, all with one revision.

A key is the kind and the name of a record with a blank between, for several kinds share the table:
they are read at one moment, and may be changed together.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Collection, Mapping
from typing import Any, Final, Generic, TypeVar

import msgspec

from toolyard.core.errors import ConfigError, StoreError
from toolyard.core.model import Problem
from toolyard.records.audit import audit_row, is_ordered, write_row
from toolyard.records.database import Database, Row
from toolyard.records.follow import ChangeSignal, Follower
from toolyard.records.protocol import ABSENT, Codec, Kept, check_version

log = logging.getLogger(__name__)

Value = TypeVar("Value")

MIGRATION: Final = """
CREATE TABLE roster (
    kind TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, version INTEGER NOT NULL,
    PRIMARY KEY (kind, key)
);
CREATE TABLE roster_revision (revision INTEGER NOT NULL);
INSERT INTO roster_revision VALUES (0)
"""
NEW_REVISION: Final = "UPDATE roster_revision SET revision = revision + 1"
"""Whoever follows the records looks again after it, also where another table was changed."""
_INDEX: Final = "SELECT revision, kind, key, version FROM roster_revision LEFT JOIN roster"
_VALUE: Final = "SELECT value, version FROM roster WHERE kind = ? AND key = ?"
_VERSION: Final = "SELECT version FROM roster WHERE kind = ? AND key = ?"
_PUT: Final = "INSERT OR REPLACE INTO roster (kind, key, value, version) VALUES (?, ?, ?, ?)"
_DELETE: Final = "DELETE FROM roster WHERE kind = ? AND key = ?"

_Row = tuple[int, Value | None, Problem | None]


class SqliteRecords(Generic[Value]):
    """The records of a database; what did not change since it was read is not read again."""

    def __init__(
        self,
        database: Database,
        codec: Codec[Value],
        kinds: Collection[str],
        follower: Follower | None = None,
    ) -> None:
        """Args: `kinds` are those that are read; a newer version of us may write others."""
        self._database, self._codec, self._kinds = database, codec, kinds
        self._lock = threading.Lock()
        self._rows: dict[str, _Row[Value]] = {}
        log_file = database.path.with_name(f"{database.path.name}-wal")
        files = (database.path, log_file)
        self._changes = follower.follow(*files) if follower else ChangeSignal()

    def read(self) -> Kept[Value]:
        """Read all records; one that cannot be used is a problem of its own."""
        try:
            with self._lock:
                return self._read()
        except StoreError as error:
            return Kept(failure=self._codec.problem(None, str(self._database.path), error))

    def revision(self) -> int:
        """The number of changes so far, whoever made them.

        Raises:
            StoreError: It cannot be read.
        """
        ((revision,),) = self._database.read("SELECT revision FROM roster_revision")
        return int(revision)

    def write(
        self, key: str, value: Value | None, *, expect: int | None = None, by: str = ""
    ) -> int:
        """Write or delete one record; see `Records.write`."""
        expected = {} if expect is None else {key: expect}
        return self.write_all({key: value}, expect=expected, by=by)

    def write_all(
        self,
        values: Mapping[str, Value | None],
        *,
        expect: Mapping[str, int],
        by: str = "",
    ) -> int:
        """Write or delete some records together or not at all; give their new version.

        Raises:
            ConfigError: One cannot be used.
            ConflictError: One is at another version than `expect` says of it.
            StoreError: They cannot be written.
        """
        texts = {key: self._text(key, value) for key, value in values.items()}
        with self._database.change() as connection:
            for key, version in expect.items():
                check_version(key, version, _version(connection, key))
            connection.execute(NEW_REVISION)
            (revision,) = connection.execute("SELECT revision FROM roster_revision").fetchone()
            for key, text in texts.items():
                write_row(connection, _audited(connection, key, text))
                if text is None:
                    connection.execute(_DELETE, _split(key))
                else:
                    connection.execute(_PUT, (*_split(key), text, revision))
        log.debug("records written", extra={"keys": sorted(values), "by": by})
        self._changes.tell_soon()
        return ABSENT if set(texts.values()) == {None} else int(revision)

    async def changed(self, after: int) -> None:
        """Wait until the revision is another than `after`.

        Raises:
            StoreError: The database cannot be read.
        """
        count = self._changes.count
        while await asyncio.to_thread(self.revision) == after:
            count = await self._changes.wait(count)

    def _read(self) -> Kept[Value]:
        index = self._database.read(_INDEX)
        rows_of_ours = [row for row in index if row[1] in self._kinds]
        versions = {f"{kind} {key}": version for _, kind, key, version in rows_of_ours}
        rows: dict[str, _Row[Value]] = {}
        for key, version in versions.items():
            row = self._rows.get(key)
            if row is None or row[0] != version:
                row = self._row(key)
            if row is not None:
                rows[key] = row
        self._rows = rows
        records = {key: (row[1], row[0]) for key, row in rows.items() if row[1] is not None}
        troubles = {key: (row[2], row[0]) for key, row in rows.items() if row[2] is not None}
        return Kept(int(index[0][0]), records, troubles)

    def _row(self, key: str) -> _Row[Value] | None:
        matches = self._database.read(_VALUE, _split(key))
        if not matches:
            return None  # gone again meanwhile; the next revision says so
        text, version = matches[0]
        try:
            return version, self._codec.read(key, _plain(text)), None
        except ConfigError as error:
            where = str(self._database.path)
            return version, None, self._codec.problem(key, where, error)

    def _text(self, key: str, value: Value | None) -> str | None:
        if value is None:
            return None
        text = msgspec.json.encode(self._codec.write(value)).decode()
        self._codec.read(key, _plain(text))
        return text


def _split(key: str) -> tuple[str, str]:
    kind, _, name = key.partition(" ")
    return kind, name


def _version(connection: sqlite3.Connection, key: str) -> int:
    row = connection.execute(_VERSION, _split(key)).fetchone()
    return int(row[0]) if row else ABSENT


def _audited(connection: sqlite3.Connection, key: str, text: str | None) -> Row | None:
    """The row of a change in the audit trail."""
    if not is_ordered():
        return None
    present = connection.execute(_VALUE, _split(key)).fetchone()
    before = _plain(present[0]) if present else None
    return audit_row(*_split(key), before, None if text is None else _plain(text))


def _plain(text: Any) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError, TypeError) as error:
        raise ConfigError(f"it is not JSON: {error}") from error
