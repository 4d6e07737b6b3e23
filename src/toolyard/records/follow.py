"""The one follower of all that is kept: it tells readers that their files may have changed.

It watches the folders of all those files together, and looks at everything now and then, because
not every file system tells of changes. A reader that is told checks whether something did change.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Final

QUIET_SECONDS: Final = 0.05
"""The quiet that ends a burst of changes: an editor's save is several of them."""
BURST_SECONDS: Final = 0.3
"""The longest a burst holds the news back."""
LOOK_SECONDS: Final = 5.0
"""The pause between two looks at everything, whatever the system tells."""
STEP_MS: Final = 200
"""The pause in which `watchfiles` collects the news of the system."""
ANY_NAME: Final = "*"

Tell = Callable[[str, str], None]
"""Takes a folder, and the name of what changed in it."""


class ChangeSignal:
    """The changes at some paths, counted; several may wait for the next one."""

    def __init__(self, paths: Iterable[Path] = ()) -> None:
        self.paths = tuple(paths)
        """The files and folders it is about, whether they are there or not."""
        self.count = 0
        """The number of times they may have changed so far."""
        self._next = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def wait(self, after: int) -> int:
        """Wait until the count is beyond `after`; give it."""
        self._loop = asyncio.get_running_loop()
        while self.count <= after:
            await self._next.wait()
        return self.count

    def tell(self) -> None:
        """Wake those who wait; for the event loop's thread alone."""
        self.count += 1
        self._next.set()
        self._next = asyncio.Event()

    def tell_soon(self) -> None:
        """Wake those who wait, from any thread."""
        if self._loop is None:
            self.count += 1  # nobody waits yet
            return
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self.tell)


class Follower:
    """Tells of changes to files while it runs; one serves a whole process."""

    def __init__(self, look_seconds: float = LOOK_SECONDS) -> None:
        self._look_seconds = look_seconds
        self._followed: list[ChangeSignal] = []
        self._interests: dict[str, dict[str, list[ChangeSignal]]] = {}
        self._pending: set[ChangeSignal] = set()
        self._arrived = asyncio.Event()

    def follow(self, *paths: Path) -> ChangeSignal:
        """Give the changes at these paths from now on."""
        changes = ChangeSignal(paths)
        self._followed.append(changes)
        self._look_at(changes)
        return changes

    def move(self, changes: ChangeSignal, paths: Iterable[Path]) -> None:
        """Let what is followed be at other paths from now on."""
        new = tuple(paths)
        if new != changes.paths:
            changes.paths = new
            self._look_at(changes)

    def _look_at(self, changes: ChangeSignal) -> None:
        # Told once in any case: what happens until its folders are watched is not seen.
        self._pending.add(changes)
        self._arrived.set()

    async def run(self) -> None:
        """Watch until cancelled; folders that came or went are noticed."""
        while True:
            folders = self._survey()
            async with _watching(folders, self._happened):
                self._tell_all()  # of what happened before the watch began
                while self._survey() == folders:
                    await self._settle()

    def _survey(self) -> dict[str, tuple[int, int]]:
        """The folders to watch, told apart from others that had their names before."""
        self._interests = {}
        for changes in self._followed:
            for folder, name in _places(changes.paths):
                named = self._interests.setdefault(folder, {})
                named.setdefault(name, []).append(changes)
        folders: dict[str, tuple[int, int]] = {}
        for folder in self._interests:
            with suppress(OSError):
                stat = os.stat(folder)
                folders[folder] = (stat.st_dev, stat.st_ino)
        return folders

    def _happened(self, folder: str, name: str) -> None:
        """Note whom a change concerns; one without a name concerns all of its folder."""
        named = self._interests.get(folder, {})
        if name:
            concerned = [*named.get(name, ()), *named.get(ANY_NAME, ())]
        else:
            concerned = list(chain(*named.values()))
        if concerned:
            self._pending.update(concerned)
            self._arrived.set()

    async def _settle(self) -> None:
        """Wait for a change and the end of its burst, or until it is time to look; tell."""
        if not await self._arrives(self._look_seconds):
            self._tell_all()
            return
        loop = asyncio.get_running_loop()
        end = loop.time() + BURST_SECONDS
        while loop.time() < end and await self._arrives(min(QUIET_SECONDS, end - loop.time())):
            pass
        pending, self._pending = self._pending, set()
        for changes in pending:
            changes.tell()

    async def _arrives(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._arrived.wait()
        except TimeoutError:
            return False
        self._arrived.clear()
        return True

    def _tell_all(self) -> None:
        self._pending.clear()
        for changes in self._followed:
            changes.tell()


def _places(paths: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """The folders in which a path may change, each with the name to look for there.

    Of a path whose folder is missing, it is the nearest one there is. A link may change, and what
    it points to; of a folder, all that is in it counts.
    """
    for path in paths:
        for spelling in dict.fromkeys((os.path.abspath(path), os.path.realpath(path))):
            folder, name = os.path.split(spelling)
            while name and not os.path.isdir(folder):
                folder, name = os.path.split(folder)
            yield folder, name
            if os.path.isdir(spelling):
                yield spelling, ANY_NAME


def _watching(folders: Iterable[str], tell: Tell) -> AbstractAsyncContextManager[None]:
    """Tell what happens in these folders while inside."""
    # Both are imported late: a command that follows nothing should not wait for them.
    if sys.platform == "linux":
        from toolyard.records.inotify import Inotify

        with suppress(OSError):  # no watches left for this user
            return Inotify(folders, tell)
    return _watching_elsewhere(folders, tell)


@asynccontextmanager
async def _watching_elsewhere(folders: Iterable[str], tell: Tell) -> AsyncIterator[None]:
    """As `_watching`, for systems that have no inotify."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(_watch(list(folders), tell))
        try:
            yield
        finally:
            task.cancel()


async def _watch(folders: list[str], tell: Tell) -> None:
    import watchfiles

    burst = int(BURST_SECONDS * 1000)
    watch = watchfiles.awatch(
        *folders, watch_filter=None, debounce=burst, step=STEP_MS, recursive=False
    )
    with suppress(OSError, RuntimeError):  # it cannot watch, or a folder went: looking remains
        async for changes in watch:
            for _, path in changes:
                tell(*os.path.split(path))
