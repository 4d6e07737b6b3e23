"""Runs the export while the hub runs, and reports what is wrong with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from toolyard.core.model import Problem, Report
from toolyard.core.ports import RecordSource
from toolyard.core.problems import ProblemCode
from toolyard.features.history.call_log import CallLog
from toolyard.features.history.export.exporter import PAUSE_SECONDS, Exporter
from toolyard.features.history.export.sinks import open_sink
from toolyard.records.audit_trail import AuditTrail
from toolyard.settings import Settings
from toolyard.yard import Yard

SOURCE: Final = "history-export"
REPORT_SECONDS: Final = 5.0
"""Seconds between two reports: each is a new picture."""


class ExportSource:
    """A source whose report has no servers, only what is wrong with the export."""

    name = SOURCE

    def __init__(
        self,
        log: CallLog,
        trail: AuditTrail,
        address: str,
        report_seconds: float = REPORT_SECONDS,
        pause_seconds: float = PAUSE_SECONDS,
    ) -> None:
        self._log, self._trail, self._address = log, trail, address
        self._report_seconds, self._pause_seconds = report_seconds, pause_seconds
        self.report = Report(SOURCE)

    async def run(self, post: Callable[[Report], None]) -> None:
        """Export until cancelled."""
        loop, changed = asyncio.get_running_loop(), asyncio.Event()

        def tell() -> None:
            loop.call_soon_threadsafe(changed.set)

        exporter = Exporter(
            open_sink(self._address),
            self._trail,
            self._trail.replica,
            tell,
            pause_seconds=self._pause_seconds,
        )
        self._log.listeners.append(exporter.add)
        self._trail.listeners.append(exporter.note_order)
        try:
            await asyncio.to_thread(exporter.start)
            while True:
                await changed.wait()
                changed.clear()
                self.report = Report(SOURCE, problems=tuple(_problems(exporter)))
                post(self.report)
                await asyncio.sleep(self._report_seconds)
        finally:
            self._log.listeners.remove(exporter.add)
            self._trail.listeners.remove(exporter.note_order)
            await asyncio.to_thread(exporter.close)


def sources(yard: Yard) -> Sequence[RecordSource]:
    """The source of a hub that exports its history."""
    address = yard.part(Settings).history_export
    if not address or CallLog not in yard.parts:
        return []
    return [ExportSource(yard.part(CallLog), yard.part(AuditTrail), address)]


def _problems(exporter: Exporter) -> list[Problem]:
    if not exporter.failure and not exporter.lost:
        return []
    parts = []
    if exporter.failure:
        parts.append(f"it does not take calls and orders now ({exporter.failure})")
    if exporter.lost:
        parts.append(f"{exporter.lost} calls since the start did not get there")
    text = f"the place of TOOLYARD_HISTORY_EXPORT: {', and '.join(parts)}"
    hint = "see whether it runs; `toolyard history export` hands over what it has missed"
    return [Problem(ProblemCode.HISTORY_EXPORT, text, hint, SOURCE)]
