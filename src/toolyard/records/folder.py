"""Records as a folder of JSON files, one each, which people may write too."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Final, Generic, TypeVar

from toolyard.core.errors import ConfigError, StoreError
from toolyard.core.model import Problem
from toolyard.records.files import locked, read_bounded, write_atomic
from toolyard.records.follow import ChangeSignal, Follower
from toolyard.records.jsonc import parse
from toolyard.records.marks import Revision, marks_of, version_of
from toolyard.records.protocol import ABSENT, Codec, Kept, check_version

log = logging.getLogger(__name__)

Value = TypeVar("Value")
SUFFIX: Final = ".json"
LARGEST: Final = 1024 * 1024
"""Bytes of one file."""
MOST: Final = 200
"""Files that are read; who has more has another problem."""


class FolderRecords(Generic[Value]):
    """The records of a folder; comments and trailing commas in its files are fine."""

    def __init__(
        self,
        folder: Path,
        codec: Codec[Value],
        follower: Follower | None = None,
        *,
        largest: int = LARGEST,
        most: int = MOST,
    ) -> None:
        self.folder = folder
        self._codec = codec
        self._largest, self._most = largest, most
        self._changes = follower.follow(folder) if follower else ChangeSignal()
        self._revision = Revision(lambda: marks_of(self._paths()), self._changes)

    def read(self) -> Kept[Value]:
        """Read all records; a bad file is a problem, and costs that record alone."""
        revision = self._revision.look()
        records: dict[str, tuple[Value, int]] = {}
        troubles: dict[str, tuple[Problem, int]] = {}
        for path in self._paths():
            version = ABSENT
            try:
                data = read_bounded(path, self._largest)
                version = version_of(data)
                records[path.stem] = (self._decode(path.stem, data), version)
            except FileNotFoundError:
                continue  # deleted since we looked
            except (ConfigError, StoreError) as error:
                problem = self._codec.problem(path.stem, str(path), error)
                troubles[path.stem] = (problem, version)
        return Kept(revision, records, troubles)

    def write(
        self, key: str, value: Value | None, *, expect: int | None = None, by: str = ""
    ) -> int:
        """Write or delete one record; see `Records.write`."""
        data = b"" if value is None else self._encode(key, value)
        path = self.path(key)
        with locked(self.folder / self.folder.name):
            if expect is not None:
                check_version(key, expect, self._version(path))
            if value is not None and not path.exists() and len(self._paths()) >= self._most:
                text = f"there are {self._most} in '{self.folder}' already"
                raise ConfigError(text, "remove one that is not used")
            _replace(path, data)
        log.debug("record written", extra={"file": str(path), "by": by})
        self._changes.tell_soon()
        return version_of(data) if data else ABSENT

    def revision(self) -> int:
        """The revision that `read` would give."""
        return self._revision.look()

    async def changed(self, after: int) -> None:
        """Wait until the revision is another than `after`."""
        await self._revision.changed(after)

    def path(self, key: str) -> Path:
        """The file of a record.

        Raises:
            ConfigError: The key cannot name a file.
        """
        if not key or key.startswith(".") or "/" in key or "\0" in key:
            raise ConfigError(f"{key[:80]!r} cannot name a file", "choose another name")
        return self.folder / f"{key}{SUFFIX}"

    def _decode(self, key: str, data: bytes) -> Value:
        root = parse(data).root
        return self._codec.read(key, root.plain() if root is not None else None)

    def _encode(self, key: str, value: Value) -> bytes:
        """The bytes of a record, which can be read again."""
        text = json.dumps(self._codec.write(value), indent=2, ensure_ascii=False)
        try:
            data = text.encode() + b"\n"
        except UnicodeEncodeError:
            raise ConfigError("a text holds half a character", "write it as UTF-8") from None
        self._decode(key, data)
        return data

    def _version(self, path: Path) -> int:
        try:
            return version_of(read_bounded(path, self._largest))
        except FileNotFoundError:
            return ABSENT

    def _paths(self) -> list[Path]:
        try:
            names = sorted(os.listdir(self.folder))
        except OSError:
            return []
        names = [name for name in names if name.endswith(SUFFIX) and not name.startswith(".")]
        return [self.folder / name for name in names[: self._most]]


def _replace(path: Path, data: bytes) -> None:
    if data:
        write_atomic(path, data)
        return
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"cannot delete '{path}': {error.strerror}") from error
