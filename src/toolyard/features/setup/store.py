"""The records of setups: what each added to the yard, so that it can be taken back."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from toolyard.core.errors import StoreError, UnknownNameError
from toolyard.records.directories import make_private
from toolyard.records.files import read_bounded, write_atomic

FOLDER: Final = "setups"
"""Below our state; for its owner alone, because a servers file may hold secrets."""


class SetupRecord(Struct, frozen=True, kw_only=True):
    """All that one setup added."""

    id: str
    """The batch of its changes in clients' files too."""
    servers: list[str] = []
    secrets: list[str] = []
    profiles: list[str] = []
    before: bytes | None = None
    """The servers file as it was; None if there was none."""
    after: str = ""
    """The hash of the servers file that was written."""


class SetupRecords:
    """The folder with the records."""

    def __init__(self, state_dir: Path) -> None:
        self._folder = state_dir / FOLDER

    def read(self, id_: str) -> SetupRecord:
        """Return the record of a setup.

        Raises:
            UnknownNameError: There is none of that id.
            StoreError: It cannot be read.
        """
        try:
            return msgspec.json.decode(read_bounded(self._path(id_)), type=SetupRecord)
        except FileNotFoundError:
            raise UnknownNameError(
                f"there is no setup {id_[:80]!r}", "undo clients with: toolyard undo"
            ) from None
        except msgspec.MsgspecError as error:
            raise StoreError(f"'{self._path(id_)}' is damaged", "delete it") from error

    def write(self, record: SetupRecord) -> None:
        """Keep a record.

        Raises:
            StoreError: It cannot be written.
        """
        make_private(str(self._folder))
        write_atomic(self._path(record.id), msgspec.json.encode(record) + b"\n")

    def forget(self, id_: str) -> None:
        """Delete a record."""
        self._path(id_).unlink(missing_ok=True)

    def _path(self, id_: str) -> Path:
        if not id_.isalnum():
            raise UnknownNameError(f"there is no setup {id_[:80]!r}", "use the id of the answer")
        return self._folder / f"{id_}.json"
