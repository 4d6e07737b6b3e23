"""A source that is one kind of records, reported anew whenever one of them is another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from toolyard.core.model import Report
from toolyard.records.protocol import Kept, Records

Value = TypeVar("Value")


class Followed(Generic[Value]):
    """Reports what is kept at once, and again after every change to it."""

    def __init__(
        self,
        name: str,
        records: Records[Value],
        tell: Callable[[Kept[Value], Report], Report],
    ) -> None:
        """Read it for the first time.

        Args:
            tell: Makes the report of what is kept, given the report before.
        """
        self.name = name
        """A short, stable name."""
        self._records, self._tell = records, tell
        current = records.read()
        self._revision = current.revision
        self.report = tell(current, Report(name))
        """The latest report; true from the start, so that no client comes too early."""

    async def run(self, post: Callable[[Report], None]) -> None:
        """Follow it until cancelled."""
        post(self.report)
        while True:
            await self._records.changed(self._revision)
            current = await asyncio.to_thread(self._records.read)
            self._revision = current.revision
            report = self._tell(current, self.report)
            if report != self.report:
                self.report = report
                post(report)
