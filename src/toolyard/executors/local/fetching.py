"""Locks for launchers that may install a package before they run it.

An interrupted npx leaves half a package behind and takes it for a whole one ever after. So a
launcher whose server has not written anything yet is never killed: the hub lets it finish, and
so does the reaper of a hub that died. Meanwhile no other is started for the same package.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from toolyard.core.errors import StartError, StoreError
from toolyard.core.model import Command
from toolyard.core.packages import may_fetch, recognise
from toolyard.records.files import open_lock, try_lock

LOOK_SECONDS: Final = 0.1
HINT: Final = (
    "it may still be installing, which goes on in the background; the next start waits for it"
)


class FetchLock:
    """The right to install a package, which one launcher has at a time, across hubs.

    It is a lock on a file that the launcher inherits: if the hub ends before the package is
    installed, the lock is held until the launcher has ended. A descriptor below 0 means no lock.
    """

    def __init__(self, fd: int = -1, fetched: Callable[[], None] = lambda: None) -> None:
        self.fd = fd
        self._fetched = fetched

    def release(self) -> None:
        """Let others install: the package is there."""
        self._fetched()
        if self.fd >= 0:
            fcntl.flock(self.fd, fcntl.LOCK_UN)  # for the launcher, too, which shares it
        self.leave()

    def leave(self) -> None:
        """Close our descriptor; the launcher still holds the lock."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1


class FetchLocks:
    """The locks of launchers, in a folder; without a folder nothing is locked.

    A start waits for an earlier one `patience` seconds at most.
    """

    def __init__(self, folder: Path | None, patience: float) -> None:
        self._folder = folder
        self._patience = patience
        self._fetched: set[str] = set()
        """Keys of packages that are installed already."""

    async def hold(self, name: str, command: Command) -> FetchLock | None:
        """Take the lock for the package of a command; None if the command installs nothing.

        Raises:
            StartError: Another start of it has not ended in time.
        """
        if not may_fetch(command.argv):
            return None
        key = _key(command)
        if self._folder is not None and key not in self._fetched:
            with suppress(StoreError):  # without locks a server starts all the same
                path = self._folder / f"{key}.lock"
                lock = FetchLock(open_lock(path), lambda: self._fetched.add(key))
                await self._lock(name, lock, path)
                return lock
        return FetchLock()

    async def _lock(self, name: str, lock: FetchLock, path: Path) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + self._patience
        try:
            while not try_lock(lock.fd, path):
                if loop.time() > end:
                    text = f"cannot start {name!r}: an earlier start of it has not ended yet"
                    raise StartError(text, HINT)
                await asyncio.sleep(LOOK_SECONDS)
        except BaseException:
            lock.leave()
            raise


def _key(command: Command) -> str:
    """Return the key shared by all launchers of the same package."""
    package = recognise(command.argv)
    words = (package.kind, package.spec) if package is not None else command.argv
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:16]
