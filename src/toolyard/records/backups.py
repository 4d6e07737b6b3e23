"""Copies of the database, one a day, and the way back to one of them."""

from __future__ import annotations

import logging
import os
import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from toolyard.core.errors import StoreError, UnknownNameError
from toolyard.records.database import Database
from toolyard.records.files import locked, write_atomic
from toolyard.records.schema import MIGRATIONS
from toolyard.records.state import DATABASE, MARK, identity, read_mark, write_mark

log = logging.getLogger(__name__)

FOLDER: Final = "backups"
KEPT: Final = 7
"""Copies that are kept, of as many days."""
LARGEST: Final = 64 * 1024 * 1024
"""Bytes of a database that is copied whole; a larger one without its history of calls."""
ASIDE: Final = "replaced"
"""How the name of a database ends that was put aside."""
_TABLES: Final = "SELECT name, sql FROM source.sqlite_master WHERE type = 'table'"


class Backups:
    """The copies of one state directory's database."""

    def __init__(self, state: Path, largest: int = LARGEST) -> None:
        self._state = state
        self._largest = largest
        self._path = state / DATABASE
        self._folder = state / FOLDER

    def list(self) -> list[Path]:
        """The copies there are, the newest first."""
        return sorted(self._folder.glob("toolyard-*.db"), reverse=True)

    def get(self, day: str = "") -> Path:
        """The copy of a day, or the newest.

        Raises:
            UnknownNameError: There is none.
        """
        known = self.list()
        for path in known:
            if day in ("", day_of(path)):
                return path
        days = ", ".join(map(day_of, known))
        text = f"there is no copy of {day[:40]!r}" if known else "there is no copy yet"
        hint = f"there are: {days}" if known else "go on without one: toolyard doctor --anew"
        raise UnknownNameError(text, hint)

    def make(self) -> None:
        """Copy the database, in place of an older copy of today; a failure is logged."""
        path = self._folder / f"toolyard-{datetime.now(UTC).date().isoformat()}.db"
        fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            try:
                if _copy(self._path, fresh, self._largest) != read_mark(self._state):
                    raise OSError("it is not the one that was here")
                fresh.chmod(0o600)
                fresh.replace(path)
            finally:
                fresh.unlink(missing_ok=True)
            for old in self.list()[KEPT:]:
                old.unlink(missing_ok=True)
        except (OSError, sqlite3.Error) as error:
            log.warning("the database was not copied", extra={"why": str(error)})

    def restore(self, copy: Path) -> None:
        """Put a copy in the place of the database, which is put aside; no hub may be running.

        Raises:
            StoreError: The copy cannot be used, or a file not be written.
        """
        with closing(Database(copy, MIGRATIONS, read_only=True)) as database:
            name = identity(database)
            if database.read("PRAGMA quick_check") != [("ok",)]:
                raise StoreError(f"the copy '{copy}' is damaged", "choose an older one")
        with locked(self._path):
            self._put_aside()
            write_atomic(self._path, copy.read_bytes())
            write_mark(self._state, name)

    def accept(self) -> None:
        """Let the database count that is there, be it new; one that is none is put aside.

        Raises:
            StoreError: A file cannot be written.
        """
        try:
            with closing(Database(self._path, MIGRATIONS)) as database:
                write_mark(self._state, identity(database))
        except StoreError:
            with locked(self._path):
                self._put_aside()
                (self._state / MARK).unlink(missing_ok=True)

    def _put_aside(self) -> None:
        for end in ("", "-wal", "-shm"):
            old = self._path.with_name(f"{DATABASE}.{ASIDE}{end}")
            old.unlink(missing_ok=True)
            with suppress(FileNotFoundError):
                os.replace(self._path.with_name(f"{DATABASE}{end}"), old)


def day_of(copy: Path) -> str:
    """The day on which a copy was made."""
    return copy.stem.removeprefix("toolyard-")


def _copy(source: Path, target: Path, largest: int) -> str:
    """Write all that a database holds at one moment into a new one; return its identity."""
    without = {"call_log"} if source.stat().st_size > largest else set()
    with closing(sqlite3.connect(target, isolation_level=None, uri=True)) as copy:
        copy.execute("ATTACH ? AS source", (f"{source.absolute().as_uri()}?mode=ro",))
        copy.execute("BEGIN")
        for name, sql in copy.execute(_TABLES).fetchall():
            copy.execute(sql)
            if name not in without:
                rows = f'SELECT * FROM source."{name}"'  # noqa: S608 - a table of our own
                copy.execute(f'INSERT INTO main."{name}" {rows}')
        (version,) = copy.execute("PRAGMA source.user_version").fetchone()
        copy.execute(f"PRAGMA main.user_version={version}")
        copy.execute("COMMIT")
        ((name,),) = copy.execute("SELECT id FROM identity").fetchall()
        return str(name)
