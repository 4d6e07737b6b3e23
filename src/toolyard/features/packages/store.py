"""Packages that were installed so that servers start without their launchers: what and where.

Each has a folder of its own with `installed.json`, which says which of the folders beside it is in
use. All of it can be made again, so it is in the cache, and removing it is always right.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from toolyard.core.errors import StoreError
from toolyard.core.packages import Kind
from toolyard.records.files import read_bounded, write_atomic

log = logging.getLogger(__name__)

FILE: Final = "installed.json"


class Installation(msgspec.Struct, frozen=True):
    """One installed package, at one version."""

    name: str
    """The name of it in orders, and of its folder."""
    kind: Kind
    package: str
    spec: str
    """The version asked for; another version only if it is ordered."""
    version: str
    program: str
    """The path of what is started."""
    path: str
    """The folder of this installation."""
    since: float
    size: int
    """Bytes."""
    era: str = ""
    """The greeting the server took when its launcher started it."""
    fault: str = ""
    """The reason why it is not used: it did not start, where its launcher did."""


class PackagesFolder:
    """The folder of all installed packages."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def load(self) -> dict[str, Installation]:
        """All of them by name; one that cannot be read is as if it were not there."""
        installations = (self._read(path) for path in sorted(self.root.glob(f"*/{FILE}")))
        return {made.name: made for made in installations if made is not None}

    def _read(self, path: Path) -> Installation | None:
        try:
            made = msgspec.json.decode(read_bounded(path), type=Installation)
        except (FileNotFoundError, StoreError, msgspec.DecodeError) as error:
            log.warning(
                "an installation cannot be read", extra={"path": str(path), "why": str(error)}
            )
            return None
        # A folder that was moved or copied by hand holds paths that lead elsewhere.
        inside = Path(made.path).parent == path.parent and Path(made.program).is_relative_to(
            made.path
        )
        return made if made.name == path.parent.name and inside else None

    def make_room(self, name: str) -> Path:
        """Make a new folder to install into; it counts once an installation names it.

        Raises:
            StoreError: It cannot be made.
        """
        room = self.root / name / secrets.token_hex(4)
        try:
            room.mkdir(mode=0o700, parents=True)
        except OSError as error:
            hint = "check the free space and that the directory is writable for you"
            raise StoreError(f"cannot make '{room}': {error.strerror}", hint) from error
        return room

    def keep(self, made: Installation) -> None:
        """Write one down; whatever it replaces is no longer in use.

        Raises:
            StoreError: It cannot be written.
        """
        write_atomic(self.root / made.name / FILE, msgspec.json.format(msgspec.json.encode(made)))

    def forget(self, name: str) -> None:
        """Take one back; its folders stay until they are cleared.

        Raises:
            StoreError: It cannot be removed.
        """
        try:
            (self.root / name / FILE).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"cannot forget the package '{name}': {error.strerror}") from error

    def clear(self, staying: set[str]) -> None:
        """Remove every installation but those at these paths, as far as that can be done."""
        for folder in self.root.glob("*/*/"):
            if str(folder) not in staying:
                shutil.rmtree(folder, ignore_errors=True)
        for folder in self.root.glob("*/"):
            with suppress(OSError):  # it is not empty, or not ours to remove
                folder.rmdir()


def size_of(folder: Path) -> int:
    """Return the number of bytes that the files below a folder have."""
    size = 0
    for top, _, names in os.walk(folder):
        for name in names:
            try:
                size += os.lstat(os.path.join(top, name)).st_size
            except OSError:
                continue  # gone in between
    return size
