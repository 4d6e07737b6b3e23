"""The approved ways to start servers; whoever writes a server down through us approves its."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

from toolyard.records.audit import audit_row, write_row
from toolyard.records.database import Database
from toolyard.records.places import RecordPlaces


class LaunchApprovals(Protocol):
    """The fingerprint of the approved launch of each server, by `name@source`.

    Every method raises StoreError if it cannot be read or written.
    """

    def get(self, server: str) -> str:
        """Return the approved way to start a server; empty if there is none."""
        ...

    def reread(self, server: str) -> str:
        """Return the same, as another process may have left it just now."""
        ...

    def approve(self, server: str, mark: str, *, by: str = "") -> None:
        """Let this way to start a server count from now on."""
        ...

    def note_first(self, server: str, mark: str) -> None:
        """Let the first way to start a server count, unless another was first."""
        ...


class SqliteLaunches:
    """Approved launches as rows of the hub's database, read once; see `LaunchApprovals`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        rows: list[Any] = database.read("SELECT server, hash FROM pinned_launches")
        self._marks: dict[str, str] = dict(rows)

    def get(self, server: str) -> str:
        """Return the approved way to start a server."""
        return self._marks.get(server, "")

    def reread(self, server: str) -> str:
        """Return the same, as another process may have left it just now."""
        sql = "SELECT hash FROM pinned_launches WHERE server = ?"
        rows = self._database.read(sql, (server,))
        if rows:
            self._marks[server] = rows[0][0]
        return self.get(server)

    def approve(self, server: str, mark: str, *, by: str = "") -> None:
        """Let this way to start a server count from now on."""
        sql = "INSERT OR REPLACE INTO pinned_launches VALUES (?, ?, ?)"
        with self._database.change() as connection:
            connection.execute(sql, (server, mark, time.time()))
            write_row(connection, audit_row("launch", server, self.get(server) or None, mark))
        self._marks[server] = mark

    def note_first(self, server: str, mark: str) -> None:
        """Let the first way to start a server count."""
        self.approve(server, mark)


def approve_without_hub(places: RecordPlaces, path: Path, server: str, launch: str) -> None:
    """Approve a launch where no hub runs, so that the next one does not ask again.

    Raises:
        StoreError: It cannot be written down.
    """
    if places.shared is not None:
        from toolyard.records.postgres.launches import SharedLaunches

        SharedLaunches(places.shared).approve(server, launch)
        return
    from toolyard.records.schema import MIGRATIONS

    with closing(Database(path, MIGRATIONS)) as database:
        SqliteLaunches(database).approve(server, launch)
