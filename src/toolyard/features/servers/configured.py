"""The source of the servers a user wrote into the servers file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from toolyard.core.model import Report, Server
from toolyard.features.servers.reading import SOURCE, LoadedServers
from toolyard.features.servers.store import ServersFile

GONE_SECONDS: Final = 0.2
"""Editors that save by delete and create leave a gap, and it must stop no server."""


class Configured:
    """Reports the servers of one file, at once and within a second of every change to it.

    While the file cannot be read, the last good servers stand, with a problem beside them: a
    slip of the pen must not stop what runs. A file that was deleted has no servers.
    """

    name = SOURCE

    def __init__(self, file: ServersFile) -> None:
        """Read the file for the first time."""
        self._file = file
        self._good: tuple[Server, ...] = ()
        self._revision = file.revision()
        self.report = self._tell(file.load())
        """The latest report."""

    async def run(self, post: Callable[[Report], None]) -> None:
        """Post the first report, then a new one whenever the file says something else."""
        post(self.report)
        while True:
            await self._file.changed(self._revision)
            if self._file.is_gone:
                await asyncio.sleep(GONE_SECONDS)
            self._revision = self._file.revision()
            report = self._tell(await asyncio.to_thread(self._file.load))
            if report != self.report:
                self.report = report
                post(report)

    def _tell(self, loaded: LoadedServers) -> Report:
        if loaded.readable:
            self._good = loaded.servers
        return Report(SOURCE, self._good, loaded.problems)
