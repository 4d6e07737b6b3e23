"""Which launch and which tools of each server were approved, and as what."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
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


_UNSEEN = 0.0
"""In place of a time: listed because it was new, and nobody has looked."""


@dataclass(slots=True)
class Pinned:
    """What was approved of one server."""

    launch: str = ""
    tools: dict[str, str] = field(default_factory=dict)
    """Hashes by the tool's own name."""
    fresh: set[str] = field(default_factory=set)
    """Of these the tools that came later and are listed, though nobody has looked at them yet."""


class PinStore:
    """Approvals, read once and kept in step; written through at once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._pinned: dict[str, Pinned] = {}
        sql = "SELECT server, tool, hash, approved_at FROM pinned_tools"
        for server, tool, mark, approved_at in database.read(sql):
            self._of(server).tools[tool] = mark
            if approved_at == _UNSEEN:
                self._of(server).fresh.add(tool)
        for server, mark in database.read("SELECT server, hash FROM pinned_launches"):
            self._of(server).launch = mark

    def _of(self, server: str) -> Pinned:
        return self._pinned.setdefault(server, Pinned())

    def get(self, server: str) -> Pinned | None:
        """What was approved of a server; None if it was never seen."""
        return self._pinned.get(server)

    def definitions(self, server: str) -> dict[str, bytes]:
        """The approved definitions of a server's tools, as it gave them."""
        sql = "SELECT tool, raw FROM pinned_tools WHERE server = ? AND approved_at > ?"
        rows = self._database.read(f"{sql} ORDER BY tool", (server, _UNSEEN))
        return {tool: bytes(raw) for tool, raw in rows}

    def approve_tools(
        self,
        server: str,
        tools: Mapping[str, Offer],
        *,
        seen: bool = True,
        gone: Collection[str] = (),
    ) -> None:
        """These definitions count from now on, `gone` no more; others stay as they were.

        Those that nobody has `seen` are remembered as such.
        """
        at = time.time() if seen else _UNSEEN
        marks = {name: tool_hash(offer.raw) for name, offer in tools.items()}
        with self._database.change() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO pinned_tools VALUES (?, ?, ?, ?, ?)",
                [(server, name, marks[name], offer.raw, at) for name, offer in tools.items()],
            )
            connection.executemany(
                "DELETE FROM pinned_tools WHERE server = ? AND tool = ?",
                [(server, name) for name in gone],
            )
        pinned = self._of(server)
        pinned.tools = {n: m for n, m in (pinned.tools | marks).items() if n not in gone}
        pinned.fresh = (pinned.fresh - marks.keys() if seen else pinned.fresh | marks.keys()) - {
            *gone
        }

    def note_new(self, server: str, tools: Mapping[str, Offer]) -> None:
        """Remember tools that came later and are listed; without a place to write, until we end."""
        if not self._database.is_read_only:
            self.approve_tools(server, tools, seen=False)
            return
        pinned = self._of(server)
        pinned.tools |= {name: tool_hash(offer.raw) for name, offer in tools.items()}
        pinned.fresh |= tools.keys()

    def approve_launch(self, server: str, mark: str) -> None:
        """This way to start the server is approved from now on."""
        sql = "INSERT OR REPLACE INTO pinned_launches VALUES (?, ?, ?)"
        self._database.write(sql, (server, mark, time.time()))
        self._of(server).launch = mark

    def reread_launch(self, server: str) -> str:
        """The approved way to start a server, as another process may have left it just now."""
        sql = "SELECT hash FROM pinned_launches WHERE server = ?"
        rows = self._database.read(sql, (server,))
        if rows:
            self._of(server).launch = rows[0][0]
        return self._of(server).launch

    def forget(self, server: str) -> None:
        """Nothing of this server is approved any more; its next offers are a new baseline."""
        with self._database.change() as connection:
            connection.execute("DELETE FROM pinned_tools WHERE server = ?", (server,))
            connection.execute("DELETE FROM pinned_launches WHERE server = ?", (server,))
        self._pinned.pop(server, None)
