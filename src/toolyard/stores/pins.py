"""Which launch and which tools of each server were approved, and as what."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from toolyard.core.model import Offer
from toolyard.core.pins import tool_hash
from toolyard.stores.database import Database

MIGRATION = """
CREATE TABLE pinned_tools (
    server TEXT NOT NULL, tool TEXT NOT NULL, hash TEXT NOT NULL, raw BLOB NOT NULL,
    approved_at REAL NOT NULL, PRIMARY KEY (server, tool)
);
CREATE TABLE pinned_launches (
    server TEXT PRIMARY KEY, hash TEXT NOT NULL, approved_at REAL NOT NULL
)
"""


@dataclass(slots=True)
class Pinned:
    """What was approved of one server."""

    launch: str = ""
    tools: dict[str, str] = field(default_factory=dict)
    """Hashes by the tool's own name."""


class PinStore:
    """Approvals, read once and kept in step; written through at once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._pinned: dict[str, Pinned] = {}
        for server, tool, mark in database.read("SELECT server, tool, hash FROM pinned_tools"):
            self._of(server).tools[tool] = mark
        for server, mark in database.read("SELECT server, hash FROM pinned_launches"):
            self._of(server).launch = mark

    def _of(self, server: str) -> Pinned:
        return self._pinned.setdefault(server, Pinned())

    def get(self, server: str) -> Pinned | None:
        """What was approved of a server; None if it was never seen."""
        return self._pinned.get(server)

    def definitions(self, server: str) -> dict[str, bytes]:
        """The approved definitions of a server's tools, as it gave them."""
        sql = "SELECT tool, raw FROM pinned_tools WHERE server = ? ORDER BY tool"
        return {tool: bytes(raw) for tool, raw in self._database.read(sql, (server,))}

    def approve_tools(self, server: str, tools: Mapping[str, Offer]) -> None:
        """These definitions are approved from now on; others of the server stay as they were."""
        now = time.time()
        with self._database.change() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO pinned_tools VALUES (?, ?, ?, ?, ?)",
                [(server, n, tool_hash(o.raw), o.raw, now) for n, o in tools.items()],
            )
        self._of(server).tools |= {name: tool_hash(offer.raw) for name, offer in tools.items()}

    def approve_launch(self, server: str, mark: str) -> None:
        """This way to start the server is approved from now on."""
        sql = "INSERT OR REPLACE INTO pinned_launches VALUES (?, ?, ?)"
        self._database.write(sql, (server, mark, time.time()))
        self._of(server).launch = mark

    def forget(self, server: str) -> None:
        """Nothing of this server is approved any more; its next offers are a new baseline."""
        with self._database.change() as connection:
            connection.execute("DELETE FROM pinned_tools WHERE server = ?", (server,))
            connection.execute("DELETE FROM pinned_launches WHERE server = ?", (server,))
        self._pinned.pop(server, None)
