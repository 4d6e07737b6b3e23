"""Custom definitions of all hubs, mirrored into a folder: the catalog reads files alone."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from toolyard.core.errors import StoreError
from toolyard.records.files import READ_LIMIT, read_bounded, write_atomic
from toolyard.records.follow import ChangeSignal

if TYPE_CHECKING:
    from toolyard.records.postgres.shared import SharedDatabase

log = logging.getLogger(__name__)

KIND: Final = "definition"


class DefinitionMirror:
    """The definitions of a shared database, and the folder in which they are files, too.

    What is only in the folder is removed from it: nobody but the mirror writes there. While the
    database is away, the files have what was known last.
    """

    def __init__(self, database: SharedDatabase, folder: Path) -> None:
        self._database = database
        self._folder = folder
        self._versions: dict[str, int] = {}

    def follow(self, changes: ChangeSignal) -> None:
        """Have changes told there from now on."""
        self._database.follow((KIND,), changes)

    def write(self, name: str, text: bytes | None, by: str = "") -> None:
        """Write a definition for all hubs, or delete it with None.

        Raises:
            StoreError: It cannot be written.
        """
        with self._database.order(by) as order:
            value = None if text is None else msgspec.json.encode(text.decode()).decode()
            order.put(KIND, name, value)

    def sync(self) -> None:
        """Make the files of the folder what the database says, as far as it is known.

        Raises:
            StoreError: A file cannot be written.
        """
        try:
            rows = self._database.read().rows(KIND)
        except StoreError as error:
            log.warning("custom definitions are as they were", extra={"why": str(error)})
            return
        versions = {name: version for name, (_, version) in rows.items()}
        if versions == self._versions:
            return
        for name, (text, version) in rows.items():
            if self._versions.get(name) != version:
                self._mirror(name, msgspec.json.decode(text, type=str).encode())
        for path in self._folder.glob("*.json"):
            if path.stem not in rows:
                path.unlink(missing_ok=True)
        self._versions = versions

    def _mirror(self, name: str, text: bytes) -> None:
        path = self._folder / f"{name}.json"
        try:
            is_same = read_bounded(path, READ_LIMIT) == text
        except (FileNotFoundError, StoreError):
            is_same = False
        if not is_same:
            write_atomic(path, text)
