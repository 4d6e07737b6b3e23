"""The approved ways to start servers; whoever writes a server down through us approves its."""

from __future__ import annotations

import time
from typing import Any

from toolyard.records.database import Database


class LaunchApprovals:
    """The fingerprint of the approved launch of each server, by `name@source`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        rows: list[Any] = database.read("SELECT server, hash FROM pinned_launches")
        self._marks: dict[str, str] = dict(rows)

    def get(self, server: str) -> str:
        """Return the approved way to start a server; empty if there is none."""
        return self._marks.get(server, "")

    def reread(self, server: str) -> str:
        """Return the same, as another process may have left it just now.

        Raises:
            StoreError: It cannot be read.
        """
        sql = "SELECT hash FROM pinned_launches WHERE server = ?"
        rows = self._database.read(sql, (server,))
        if rows:
            self._marks[server] = rows[0][0]
        return self.get(server)

    def approve(self, server: str, mark: str) -> None:
        """Let this way to start a server count from now on.

        Raises:
            StoreError: It cannot be written down.
        """
        sql = "INSERT OR REPLACE INTO pinned_launches VALUES (?, ?, ?)"
        self._database.write(sql, (server, mark, time.time()))
        self._marks[server] = mark
