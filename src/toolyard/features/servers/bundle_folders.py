"""The folders of unpacked bundles (MCPB), each with a record of the servers files that use it.

A folder goes when the last server that was added from it is removed. A hub can put a removed server
back as long as it runs, so only the next one deletes the folder.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import msgspec

from toolyard.core.errors import StoreError
from toolyard.features.servers.removed import Removal
from toolyard.records.files import locked, read_bounded, write_atomic


class BundleRecord(msgspec.Struct, frozen=True):
    """The origin of an unpacked bundle, and who uses it."""

    name: str
    version: str
    file: str
    sha256: str
    used_by: list[str]
    """The servers files with a server of it."""


class BundleFolders:
    """All bundles that are unpacked; every method blocks."""

    def __init__(self, data_dir: Path) -> None:
        self.path = data_dir / "bundles"

    def claim(self, folder: Path, record: BundleRecord) -> None:
        """Note that a servers file uses a folder, which may not be unpacked yet.

        Raises:
            StoreError: It cannot be written.
        """
        with locked(self.path):
            earlier = self._read(folder)
            users = [*(earlier.used_by if earlier else ()), *record.used_by]
            self._write(folder, msgspec.structs.replace(record, used_by=list(dict.fromkeys(users))))

    def release(self, folders: Iterable[Path], servers_file: Path) -> None:
        """Note that a servers file does not use these folders any more.

        Raises:
            StoreError: It cannot be written.
        """
        with locked(self.path):
            for folder in folders:
                if record := self._read(folder):
                    users = [user for user in record.used_by if user != str(servers_file)]
                    self._write(folder, msgspec.structs.replace(record, used_by=users))

    def claim_again(self, removal: Removal, servers_file: Path) -> None:
        """Note that a server was put back.

        Raises:
            StoreError: It cannot be written.
        """
        for folder in self.find_removed(removal):
            if record := self._read(folder):
                self.claim(folder, msgspec.structs.replace(record, used_by=[str(servers_file)]))

    def find_removed(self, removal: Removal) -> list[Path]:
        """The folders that a servers file named until a server was removed from it."""
        names = {folder: json.dumps(str(folder))[1:-1].encode() for folder, _ in self._records()}
        return [
            folder
            for folder, name in names.items()
            if name in removal.before and name not in removal.after
        ]

    def delete_unused(self, folders: Iterable[Path] | None = None) -> None:
        """Delete what nobody uses, of these folders or of all."""
        for folder in self._set_aside(folders):
            shutil.rmtree(folder, ignore_errors=True)

    def _set_aside(self, folders: Iterable[Path] | None) -> list[Path]:
        """Take the unused away from under their names, so that a bundle can be unpacked anew."""
        if not self.path.is_dir():
            return []
        aside: list[Path] = []
        with suppress(OSError, StoreError), locked(self.path):
            for folder, record in self._records():
                if record.used_by or (folders is not None and folder not in folders):
                    continue
                _record_file(folder).unlink()
                if folder.is_dir():
                    aside.append(folder.rename(folder.with_name(f".removed-{uuid4().hex}")))
        return aside

    def _records(self) -> Iterator[tuple[Path, BundleRecord]]:
        for file in sorted(self.path.glob("*.json")):
            if record := self._read(file.with_suffix("")):
                yield file.with_suffix(""), record

    def _read(self, folder: Path) -> BundleRecord | None:
        """The record of a folder; None if there is none that can be read."""
        with suppress(FileNotFoundError, StoreError, msgspec.MsgspecError):
            data = read_bounded(_record_file(folder))
            return msgspec.json.decode(data, type=BundleRecord)
        return None

    def _write(self, folder: Path, record: BundleRecord) -> None:
        write_atomic(_record_file(folder), msgspec.json.encode(record) + b"\n")


def _record_file(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.json")
