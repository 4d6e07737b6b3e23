"""A source that is one file or folder of the user's, looked at now and then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from toolyard.core.model import Report

Loaded = TypeVar("Loaded")
Given = TypeVar("Given", covariant=True)


class Marked(Protocol[Given]):
    """Something on disk that can be read, and tells cheaply whether it is as it was."""

    def mark(self) -> object:
        """Equal as long as nothing changed."""
        ...

    def load(self) -> Given:
        """Read it."""
        ...


class Followed(Generic[Loaded]):
    """Reports what is there at once, and again after every change to it."""

    def __init__(
        self,
        name: str,
        there: Marked[Loaded],
        tell: Callable[[Loaded, Report], Report],
        seconds: float,
    ) -> None:
        """Read it for the first time.

        Args:
            tell: What to report of what was read, after what was reported last.
            seconds: How often it is looked at.
        """
        self.name = name
        """A short, stable name."""
        self._there, self._tell, self._seconds = there, tell, seconds
        self._mark = there.mark()
        self.report = tell(there.load(), Report(name))
        """What is known; true from the start, so that no client comes too early."""

    async def run(self, post: Callable[[Report], None]) -> None:
        """Follow it until cancelled."""
        post(self.report)
        while True:
            await asyncio.sleep(self._seconds)
            mark = self._there.mark()
            if mark != self._mark:
                self._mark = mark
                loaded = await asyncio.to_thread(self._there.load)
                self.report = self._tell(loaded, self.report)
                post(self.report)
