"""The projects in which attached clients work."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from toolyard.announce import project_paths
from toolyard.records.follow import ChangeSignal


class ProjectFolders:
    """The working directories of all clients that are attached: what is announced there counts."""

    def __init__(self) -> None:
        self.changes = ChangeSignal()
        """Told whenever a folder comes or goes."""
        self.looks = ChangeSignal()
        """Told whenever somebody has looked for what is announced in all of them."""
        self._looked = -1
        self._clients: Counter[str] = Counter()

    def enter(self, folder: str) -> None:
        """Count a client in."""
        if os.path.isabs(folder):
            self._clients[folder] += 1
            self.changes.tell()

    def leave(self, folder: str) -> None:
        """Count a client out."""
        self._clients[folder] -= 1
        if self._clients[folder] <= 0:
            del self._clients[folder]
            self.changes.tell()

    def look_done(self, count: int) -> None:
        """Say that the folders of this count of changes were looked at."""
        self._looked = count
        self.looks.tell()

    async def wait_looked(self) -> None:
        """Wait until the folders that there are now were looked at."""
        wanted = self.changes.count
        while self._looked < wanted:
            await self.looks.wait(self.looks.count)

    def paths(self) -> list[Path]:
        """The files in which servers of these folders announce themselves."""
        paths = [path for folder in self._clients for path in project_paths(Path(folder))]
        return list(dict.fromkeys(paths))
