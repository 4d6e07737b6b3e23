"""The hub's own files: without them it serves what it has loaded, and can load nothing new."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import toolyard
from toolyard.core.model import Problem, Report
from toolyard.core.problems import ProblemCode
from toolyard.installation import GONE, GONE_HINT, this_installation
from toolyard.records.follow import Follower
from toolyard.yard import Yard

SOURCE: Final = "installation"


def sources(yard: Yard) -> Sequence[OwnFiles]:
    """The source that watches over the hub's own files."""
    command = this_installation().permanent
    lasting = f"; so that it stays: {command}" if command else ""
    return [OwnFiles(yard.part(Follower), Path(toolyard.__file__), f"{GONE_HINT}{lasting}")]


class OwnFiles:
    """Reports a problem while the files that the hub runs from are gone."""

    def __init__(self, follower: Follower, file: Path, hint: str) -> None:
        """Watch one file, which stands for all; `hint` says what to do without it."""
        self.name = SOURCE
        self._file, self._hint = file, hint
        self._changes = follower.follow(file)
        self.report = self._look()

    async def run(self, post: Callable[[Report], None]) -> None:
        """Look whenever something happens there, until cancelled."""
        count = 0
        while True:
            count = await self._changes.wait(count)
            report = self._look()
            if report != self.report:
                self.report = report
                post(report)

    def _look(self) -> Report:
        if self._file.exists():
            return Report(SOURCE)
        folder = str(self._file.parent)
        return Report(SOURCE, problems=(Problem(ProblemCode.HUB_FILES, GONE, self._hint, folder),))
