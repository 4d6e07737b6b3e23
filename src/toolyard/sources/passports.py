"""Reports what the user says of clients, so that it is on the picture like all else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from toolyard.core.model import Report
from toolyard.stores.passports import LoadedPassports, PassportsFile

SOURCE: Final = "passports"
LOOK_SECONDS: Final = 0.5
"""How often the file is looked at; one call of the system."""


class Passports:
    """Reports the file at once, and again after every change to it.

    While the file cannot be read, what it said before stands.
    """

    def __init__(self, file: PassportsFile) -> None:
        self._file = file
        self._mark = file.mark()
        self.report = _report(file.load(), Report(SOURCE))
        """What is known; true from the start, so that no client comes too early."""

    @property
    def name(self) -> str:
        """A short, stable name."""
        return SOURCE

    async def run(self, post: Callable[[Report], None]) -> None:
        """Follow the file until cancelled."""
        post(self.report)
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            mark = self._file.mark()
            if mark != self._mark:
                self._mark = mark
                loaded = await asyncio.to_thread(self._file.load)
                self.report = _report(loaded, self.report)
                post(self.report)


def _report(loaded: LoadedPassports, before: Report) -> Report:
    if not loaded.is_readable:
        return replace(before, problems=loaded.problems)
    return Report(SOURCE, problems=loaded.problems, passports=loaded.overrides)
