"""Marks of files, by which a change is noticed without reading; and the revisions made of them."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from toolyard.records.follow import ChangeSignal

Mark = tuple[int, ...]


def mark_of(path: Path | str) -> Mark:
    """Return what differs whenever a file does; empty if there is none."""
    try:
        stat = os.stat(path)
    except OSError:
        return ()
    return (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


def rights_of(path: Path) -> Mark:
    """Return what differs whenever the owner or the rights of a file or folder do."""
    try:
        stat = os.stat(path)
    except OSError:
        return ()
    return (stat.st_mode, stat.st_uid, stat.st_gid)


def marks_of(paths: Iterable[Path]) -> tuple[tuple[str, Mark], ...]:
    """Return what differs whenever one of these files does, or they are others."""
    return tuple((path.name, mark_of(path)) for path in paths)


def version_of(data: bytes) -> int:
    """The version of a record that is kept in a file: of equal bytes, equal, and never 0."""
    digest = hashlib.blake2b(data, digest_size=7).digest()
    return 1 + int.from_bytes(digest, "big")


class Revision:
    """Numbers the states of something on disk: another number as soon as its mark is another."""

    def __init__(self, mark: Callable[[], object], changes: ChangeSignal) -> None:
        self._mark = mark
        self._changes = changes
        self._lock = threading.Lock()
        self._last = mark()
        self._number = 1

    def look(self) -> int:
        """Give the number of the present state."""
        with self._lock:
            mark = self._mark()
            if mark != self._last:
                self._last = mark
                self._number += 1
            return self._number

    async def changed(self, after: int) -> None:
        """Wait until the number is another than `after`."""
        count = self._changes.count
        while self.look() == after:
            count = await self._changes.wait(count)
