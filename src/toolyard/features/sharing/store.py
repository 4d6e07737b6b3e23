"""The records of sharing: evidence about servers, and the questions they were seen to ask."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

import msgspec

from toolyard.core.errors import StoreError
from toolyard.core.sharing import Asking, Evidence, Tried
from toolyard.records.database import Database
from toolyard.records.sqlite import NEW_REVISION
from toolyard.records.state import RESTORE

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
            text = "the evidence cannot be kept: the database is not open"
            raise StoreError(text, RESTORE)
        text = msgspec.json.encode(asdict(evidence)).decode()
        row = (evidence.server, evidence.launch, evidence.verdict, text)
        with self._database.change() as connection:
            connection.execute("INSERT OR REPLACE INTO sharing VALUES (?, ?, ?, ?)", row)
            connection.execute(NEW_REVISION)

    def get(self, server: str) -> Evidence | None:
        """Return the evidence about a server, if it was ever tried.

        Raises:
            StoreError: It cannot be read.
        """
        if self._database is None:
            return None
        sql = "SELECT evidence FROM sharing WHERE server = ?"
        rows = self._database.read(sql, (server,))
        return msgspec.json.decode(rows[0][0], type=Evidence) if rows else None

    def put_asking(self, server: str, asking: Asking) -> None:
        """Write down the questions of a server, in place of older; raises like `put`."""
        if self._database is None:
            raise StoreError("what servers ask cannot be kept: the database is not open", RESTORE)
        row = (server, asking.launch, asking.question, asking.roots)
        with self._database.change() as connection:
            connection.execute("INSERT OR REPLACE INTO asking VALUES (?, ?, ?, ?)", row)
            connection.execute(NEW_REVISION)


def read_asking(database: Database) -> dict[str, Asking]:
    """Return the questions of servers, by server; raises like `read_tried`."""
    rows: list[Any] = database.read("SELECT server, launch, question, roots FROM asking")
    return {
        server: Asking(launch, question, bool(roots)) for server, launch, question, roots in rows
    }


def read_tried(database: Database) -> dict[str, Tried]:
    """Return the verdicts on servers, by server.

    Raises:
        StoreError: They cannot be read.
    """
    rows: list[Any] = database.read("SELECT server, launch, verdict FROM sharing")
    return {server: Tried(launch, _SHAREABLE.get(verdict)) for server, launch, verdict in rows}
