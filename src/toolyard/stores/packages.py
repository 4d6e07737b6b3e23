"""Packages that were installed so that servers start without their launchers: what and where.

Each has a folder of its own with `pin.json`, which says which of the folders beside it is in
use. All of it can be made again, so it is in the cache, and removing it is always right.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
from pathlib import Path
from typing import Final

import msgspec

from toolyard.core.errors import StoreError
from toolyard.core.packages import Kind
from toolyard.stores.files import read_bounded, write_atomic

log = logging.getLogger(__name__)

FILE: Final = "pin.json"


class Pin(msgspec.Struct, frozen=True):
    """One installed package, at one version."""

    name: str
    """What orders call it, and the name of its folder."""
    kind: Kind
    package: str
    spec: str
    """What was asked for; another version only if it is ordered."""
    version: str
    program: str
    """The path of what is started."""
    path: str
    """The folder of this installation."""
    since: float
    size: int
    """Bytes."""
    era: str = ""
    """Which greeting the server took when its launcher started it."""
    fault: str = ""
    """Why it is not used: it did not start, where its launcher did."""


class PackagesFolder:
    """The folder of all installed packages."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def load(self) -> dict[str, Pin]:
        """All pins by name; one that cannot be read is as if it were not there."""
        pins = (self._read(path) for path in sorted(self.root.glob(f"*/{FILE}")))
        return {pin.name: pin for pin in pins if pin is not None}

    def _read(self, path: Path) -> Pin | None:
        try:
            pin = msgspec.json.decode(read_bounded(path), type=Pin)
        except (FileNotFoundError, StoreError, msgspec.DecodeError) as error:
            log.warning("a pin cannot be read", extra={"path": str(path), "why": str(error)})
            return None
        # A folder that was moved or copied by hand holds paths that lead elsewhere.
        inside = Path(pin.path).parent == path.parent and Path(pin.program).is_relative_to(pin.path)
        return pin if pin.name == path.parent.name and inside else None

    def make_room(self, name: str) -> Path:
        """Make a new folder to install into; it counts once a pin that names it is kept.

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

    def keep(self, pin: Pin) -> None:
        """Write a pin down; whatever it replaces is no longer in use.

        Raises:
            StoreError: It cannot be written.
        """
        write_atomic(self.root / pin.name / FILE, msgspec.json.format(msgspec.json.encode(pin)))

    def forget(self, name: str) -> None:
        """Take a pin back; its folders stay until they are cleared.

        Raises:
            StoreError: It cannot be removed.
        """
        try:
            (self.root / name / FILE).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"cannot remove the pin '{name}': {error.strerror}") from error

    def clear(self, kept: set[str]) -> None:
        """Remove every installation but those at these paths."""
        for folder in self.root.glob("*/*/"):
            if str(folder) not in kept:
                shutil.rmtree(folder, ignore_errors=True)
        for folder in self.root.glob("*/"):
            if not any(folder.iterdir()):
                folder.rmdir()


def size_of(folder: Path) -> int:
    """How many bytes the files below a folder have."""
    found = 0
    for top, _, names in os.walk(folder):
        for name in names:
            try:
                found += os.lstat(os.path.join(top, name)).st_size
            except OSError:
                continue  # gone in between
    return found
