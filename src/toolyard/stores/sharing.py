"""What was found out about sharing processes of servers, and what was seen of their questions."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

import msgspec

from toolyard.core.errors import StoreError
from toolyard.core.sharing import Asking, Evidence, Tried
from toolyard.records.database import Database
from toolyard.records.sqlite import NEW_REVISION

MIGRATION: Final = """
CREATE TABLE sharing (
    server TEXT PRIMARY KEY, launch TEXT NOT NULL, verdict TEXT NOT NULL, evidence TEXT NOT NULL
)
"""
ASKING_MIGRATION: Final = """
CREATE TABLE asking (
    server TEXT PRIMARY KEY, launch TEXT NOT NULL, question TEXT NOT NULL, roots INTEGER NOT NULL
)
"""
_SHAREABLE: Final = {"shareable": True, "not": False}


class SharingStore:
    """Evidence and questions, one row per server each; may be used from any thread."""

    def __init__(self, database: Database | None) -> None:
        self._database = database

    def put(self, evidence: Evidence) -> None:
        """Write evidence down, in place of older; whoever follows agents' records notices.

        Raises:
            StoreError: It cannot be written.
        """
        if self._database is None:
            text = "what was found out cannot be kept: the database is not open"
            raise StoreError(text, "see: toolyard doctor")
        said = msgspec.json.encode(asdict(evidence)).decode()
        row = (evidence.server, evidence.launch, evidence.verdict, said)
        with self._database.change() as connection:
            connection.execute("INSERT OR REPLACE INTO sharing VALUES (?, ?, ?, ?)", row)
            connection.execute(NEW_REVISION)

    def get(self, server: str) -> Evidence | None:
        """The evidence about a server, if it was ever tried.

        Raises:
            StoreError: It cannot be read.
        """
        if self._database is None:
            return None
        sql = "SELECT evidence FROM sharing WHERE server = ?"
        rows = self._database.read(sql, (server,))
        return msgspec.json.decode(rows[0][0], type=Evidence) if rows else None

    def put_asking(self, server: str, asking: Asking) -> None:
        """Write down what a server asks, in place of older; raises like `put`."""
        if self._database is None:
            raise StoreError("what servers ask cannot be kept: the database is not open")
        row = (server, asking.launch, asking.question, asking.roots)
        with self._database.change() as connection:
            connection.execute("INSERT OR REPLACE INTO asking VALUES (?, ?, ?, ?)", row)
            connection.execute(NEW_REVISION)


def read_asking(database: Database) -> dict[str, Asking]:
    """What servers ask, by server; raises like `read_tried`."""
    rows: list[Any] = database.read("SELECT server, launch, question, roots FROM asking")
    return {
        server: Asking(launch, question, bool(roots)) for server, launch, question, roots in rows
    }


def read_tried(database: Database) -> dict[str, Tried]:
    """What resolving must know, by server.

    Raises:
        StoreError: It cannot be read.
    """
    rows: list[Any] = database.read("SELECT server, launch, verdict FROM sharing")
    return {server: Tried(launch, _SHAREABLE.get(verdict)) for server, launch, verdict in rows}
