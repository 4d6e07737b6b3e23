"""The trouble of telemetry, on the picture like all else."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from toolyard.core.model import Event, Report
from toolyard.features.telemetry.model import SOURCE
from toolyard.features.telemetry.opening import Telemetry
from toolyard.yard import Yard


def sources(yard: Yard) -> Sequence[TelemetryTrouble]:
    """The source of what is wrong with telemetry; none if nobody asked for it."""
    telemetry = yard.part(Telemetry)
    return [TelemetryTrouble(telemetry)] if telemetry.trace or telemetry.problems else []


class TelemetryTrouble:
    """Reports what keeps traces and metrics from being delivered."""

    name = SOURCE

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry

    @property
    def report(self) -> Report:
        """Everything that is wrong now."""
        return Report(SOURCE, problems=self._telemetry.problems)

    async def run(self, post: Callable[[Event], None]) -> None:
        """Report whenever the collector goes or comes back, until cancelled."""
        health = self._telemetry.health
        while health is not None:
            await health.changed.wait()
            health.changed.clear()
            post(self.report)
