"""The hub's database among its other state: opened as far as it goes, and known again.

A mark beside the database names the one that belongs there. Without it an empty database would
look like a new beginning, in which everything that servers offer is trusted.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolyard.core.errors import StoreError
from toolyard.core.model import Problem
from toolyard.core.problems import ProblemCode
from toolyard.records.database import READ_ONLY_HINT, Database
from toolyard.records.files import read_bounded, write_atomic
from toolyard.records.schema import MIGRATIONS

log = logging.getLogger(__name__)

DATABASE: Final = "toolyard.db"
MARK: Final = "database-id"
_WAITS: Final = "so tools of your servers wait"
RESTORE: Final = (
    "put the newest copy back with: toolyard doctor --restore;"
    " or go on without what was lost: toolyard doctor --anew"
)


@dataclass(frozen=True, slots=True)
class State:
    """The database, if it could be opened, and what is wrong with it."""

    database: Database | None = None
    problem: Problem | None = None

    @property
    def is_whole(self) -> bool:
        """Whether a server that the database does not know was never seen before.

        Otherwise what it offers may be what somebody refused.
        """
        return self.problem is None


def open_state(folder: Path) -> State:
    """Open the database of a folder; for reading alone if it cannot be written."""
    path = folder / DATABASE
    try:
        database = Database(path, MIGRATIONS)
    except StoreError as error:
        return _look(path, error)
    marked = read_mark(folder)
    if not marked:
        write_mark(folder, identity(database))
    elif marked != identity(database):
        return State(database, _lost(path))
    return State(database)


def examine(folder: Path) -> Problem | None:
    """Say what is wrong with the database of a folder; nothing is made or changed."""
    path, marked = folder / DATABASE, read_mark(folder)
    if not path.exists():
        return _lost(path) if marked else None
    try:
        database = Database(path, MIGRATIONS, read_only=True)
    except StoreError as error:
        return _failed(path, error)
    found = identity(database)
    database.close()
    return _lost(path) if marked not in ("", found) else None


def identity(database: Database) -> str:
    """The name of a database, which copies of it have too.

    Raises:
        StoreError: It cannot be read.
    """
    ((name,),) = database.read("SELECT id FROM identity")
    return str(name)


def read_mark(folder: Path) -> str:
    """The name of the database that belongs into a folder; empty if none was there yet."""
    try:
        return read_bounded(folder / MARK, 1024).decode("ascii", "replace").strip()
    except (FileNotFoundError, StoreError):
        return ""


def write_mark(folder: Path, name: str) -> None:
    """Note which database belongs into a folder; a failure costs nothing but the note."""
    try:
        write_atomic(folder / MARK, f"{name}\n".encode())
    except StoreError as error:
        log.warning("the database was not marked", extra={"why": str(error)})


def _look(path: Path, error: StoreError) -> State:
    """Open for reading what cannot be opened for writing."""
    try:
        database = Database(path, MIGRATIONS, read_only=True)
    except StoreError:
        return State(None, _failed(path, error))
    if read_mark(path.parent) not in ("", identity(database)):
        return State(database, _lost(path))
    text = (
        f"{error}; it is only read: what was approved is served, what is new waits, and nothing"
        " is recorded"
    )
    return State(database, Problem(ProblemCode.DATABASE_READ_ONLY, text, READ_ONLY_HINT, str(path)))


def _failed(path: Path, error: StoreError) -> Problem:
    text = f"{error}; nothing tells what was approved, {_WAITS}"
    return Problem(ProblemCode.DATABASE_FAILED, text, error.hint, str(path))


def _lost(path: Path) -> Problem:
    text = (
        f"{path} was removed, emptied or replaced: what you approved and the lists of your agents"
        f" are not in it, {_WAITS}"
    )
    return Problem(ProblemCode.DATABASE_LOST, text, RESTORE, str(path))
