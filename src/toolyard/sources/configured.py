"""The source of the servers a user wrote into the servers file."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from contextlib import aclosing
from pathlib import Path

import watchfiles

from toolyard.core.model import Report, Server
from toolyard.stores.servers import SOURCE, Loaded, ServersFile

log = logging.getLogger(__name__)

STEP_MS = 100
"""Quiet that ends a burst of changes: an editor's save is several of them."""
DEBOUNCE_MS = 300
"""The longest a burst may hold a report back."""
LOOK_MS = 500
"""How often to look without being told: not every file system tells, and none tells of a
directory that was not there when the watch began."""
GONE_PAUSE = 0.2
"""Seconds; editors that save by delete and create leave a gap, and it must stop no server."""

Mark = tuple[int, ...] | None
"""What changes whenever a file does; None if there is no file."""


class Configured:
    """Reports the servers of one file, at once and within a second of every change to it.

    While the file cannot be read, the last good servers stand, with a problem beside them: a
    slip of the pen must not stop what runs. A file that was deleted has no servers.
    """

    def __init__(self, path: Path, lookup_env: Mapping[str, str] | None = None) -> None:
        self._path = path
        self._file = ServersFile(path, lookup_env)
        self._mark: Mark = None
        self._good: tuple[Server, ...] = ()
        self._posted: Report | None = None

    @property
    def name(self) -> str:
        """A short, stable name."""
        return SOURCE

    async def run(self, post: Callable[[Report], None]) -> None:
        """Post the first report, then a new one whenever the file says something else."""
        self._posted = None
        await self._look(post, told=True)
        while True:
            try:
                await self._watch(post, self._folders())
            except FileNotFoundError:  # a folder went away before it could be watched
                await self._look_later(post)
            except (OSError, RuntimeError) as error:  # most often: no watches left for this user
                log.warning("cannot watch, looking instead", extra={"error": str(error)})
                await self._look_later(post)

    async def _watch(self, post: Callable[[Report], None], folders: dict[str, Mark]) -> None:
        """Follow changes until other folders are to be watched."""
        changes = watchfiles.awatch(
            *folders,
            watch_filter=None,
            debounce=DEBOUNCE_MS,
            step=STEP_MS,
            rust_timeout=LOOK_MS,
            yield_on_timeout=True,
            recursive=False,
        )
        async with aclosing(changes):
            async for change in changes:
                await self._look(post, told=bool(change))
                if self._folders() != folders:
                    return

    async def _look_later(self, post: Callable[[Report], None]) -> None:
        await asyncio.sleep(LOOK_MS / 1000)
        await self._look(post, told=False)

    async def _look(self, post: Callable[[Report], None], told: bool) -> None:
        """Read the file if it may have changed, and post what is new."""
        mark = _mark(self._path)
        if mark is None and self._mark is not None:
            await asyncio.sleep(GONE_PAUSE)
            mark = _mark(self._path)
        if not told and mark == self._mark:
            return
        self._mark = mark
        report = self._report(await asyncio.to_thread(self._file.load))
        if report != self._posted:
            self._posted = report
            post(report)

    def _report(self, loaded: Loaded) -> Report:
        if loaded.readable:
            self._good = loaded.servers
        return Report(SOURCE, self._good, loaded.problems)

    def _folders(self) -> dict[str, Mark]:
        """Give the folders to watch: of the file and of what it links to, or what exists of them.

        With their marks, because a folder that was deleted and made again must be watched anew.
        """
        found: dict[str, Mark] = {}
        for path in (self._path.absolute(), Path(os.path.realpath(self._path))):
            folder = next((each for each in path.parents if each.is_dir()), path.parent)
            found[str(folder)] = (_mark(folder) or ())[:2]
        return found


def _mark(path: Path) -> Mark:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
