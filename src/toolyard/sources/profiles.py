"""Reports the profiles of the user's folder, so that they are on the picture like all else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from toolyard.core.model import Report
from toolyard.stores.profiles import LoadedProfiles, ProfilesFolder

SOURCE: Final = "profiles"
LOOK_SECONDS: Final = 0.2
"""How often the folder is looked at; a handful of files, so looking costs microseconds."""


class Profiles:
    """Reports all profiles at once, and again after every change to one.

    A profile whose file cannot be read just now stands as it was: a slip of the pen must neither
    show what was hidden nor take away what is in use.
    """

    def __init__(self, folder: ProfilesFolder) -> None:
        self._folder = folder
        self._mark = folder.mark()
        self.report = _report(folder.load(), Report(SOURCE))
        """What is known; true from the start, so that no client comes too early."""

    @property
    def name(self) -> str:
        """A short, stable name."""
        return SOURCE

    async def run(self, post: Callable[[Report], None]) -> None:
        """Follow the folder until cancelled."""
        post(self.report)
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            mark = self._folder.mark()
            if mark != self._mark:
                self._mark = mark
                loaded = await asyncio.to_thread(self._folder.load)
                self.report = _report(loaded, self.report)
                post(self.report)


def _report(loaded: LoadedProfiles, before: Report) -> Report:
    stand = tuple(each for each in before.profiles if each.name in loaded.broken)
    profiles = sorted((*loaded.profiles, *stand), key=lambda profile: profile.name)
    return Report(SOURCE, problems=loaded.problems, profiles=tuple(profiles))
