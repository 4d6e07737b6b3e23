"""Reports calls that are missing from the history, so that a person sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from toolyard.core.model import Problem, Report
from toolyard.core.ports import RecordSource
from toolyard.core.problems import ProblemCode
from toolyard.features.history.call_log import CallLog
from toolyard.features.history.model import LoggedCall
from toolyard.yard import Yard

SOURCE: Final = "history"
PAUSE_SECONDS: Final = 30.0
"""Seconds between two reports: each is a new picture."""
SHOWN_SECONDS: Final = 86400.0
"""The time for which a loss is shown after the last one."""


class MissingCalls:
    """Counts the calls that could not be recorded; a source, whose report has no servers."""

    name = SOURCE

    def __init__(
        self,
        log: CallLog,
        pause_seconds: float = PAUSE_SECONDS,
        shown_seconds: float = SHOWN_SECONDS,
    ) -> None:
        self._log = log
        self._pause_seconds = pause_seconds
        self._shown_seconds = shown_seconds
        self._is_more = asyncio.Event()
        self._told = 0
        self.report = Report(SOURCE)

    async def run(self, post: Callable[[Report], None]) -> None:
        """Report losses until cancelled."""
        self._log.catch_up()
        self._log.listeners.append(self._look)
        try:
            while True:
                await self._is_more.wait()
                await self._show(post)
        finally:
            self._log.listeners.remove(self._look)

    async def _show(self, post: Callable[[Report], None]) -> None:
        """Report what is missing, until nothing was lost for a while."""
        try:
            while True:
                async with asyncio.timeout(self._shown_seconds):
                    await self._is_more.wait()
                self._is_more.clear()
                self._told = self._log.dropped
                self._post(post, _missing(self._told))
                await asyncio.sleep(self._pause_seconds)
        except TimeoutError:
            self._post(post)

    def _look(self, _calls: Sequence[LoggedCall]) -> None:
        if self._log.dropped > self._told:
            self._is_more.set()

    def _post(self, post: Callable[[Report], None], *problems: Problem) -> None:
        self.report = Report(SOURCE, problems=problems)
        post(self.report)


def sources(yard: Yard) -> Sequence[RecordSource]:
    """The source of a hub that keeps a history."""
    from toolyard.features.history.export.source import sources as export_sources

    exports = export_sources(yard)
    if CallLog not in yard.parts or yard.part(CallLog).rows is None:
        return exports
    return [MissingCalls(yard.part(CallLog)), *exports]


def _missing(calls: int) -> Problem:
    text = f"{calls} calls are missing from the history: they could not be written"
    hint = "see whether the disk is full or the database away; calls from then on are recorded"
    return Problem(ProblemCode.HISTORY_DROPPED, text, hint, SOURCE)
