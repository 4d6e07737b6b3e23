"""Telemetry of a hub: off, unless the environment asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from toolyard.core.model import Problem
from toolyard.features.telemetry.model import ExportPlan, read_plan, settings_problem
from toolyard.installation import how_to_add
from toolyard.relay.session import ClientRequest
from toolyard.yard import Yard

if TYPE_CHECKING:
    from toolyard.features.telemetry.exporting import Exports
    from toolyard.features.telemetry.health import CollectorHealth


class Telemetry:
    """What the hub exports, and what is wrong with that."""

    def __init__(self, environ: Mapping[str, str], replica: str) -> None:
        """Begin to export what an environment asks for, as the hub of this name."""
        plan = read_plan(environ)
        self._problems = plan.problems
        self._exports: Exports | None = None
        self.health: CollectorHealth | None = None
        self.trace: Callable[[ClientRequest], None] | None = None
        """Begins the span of a request; None if nothing is exported."""
        if plan.is_on:
            self._open(plan, replica)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Everything that keeps it from being exported."""
        return self._problems + (self.health.problems if self.health is not None else ())

    def _open(self, plan: ExportPlan, replica: str) -> None:
        try:
            from toolyard.features.telemetry.exporting import Exports
            from toolyard.features.telemetry.health import CollectorHealth
        except ImportError:
            text = "traces and metrics need OpenTelemetry, which is not installed"
            self._problems += (settings_problem(text, how_to_add("otel")),)
            return
        health = CollectorHealth()
        try:
            self._exports = Exports(plan, health, replica)
        except Exception as error:  # whatever a library makes of a variable
            text = f"traces and metrics cannot be exported: {error}"
            self._problems += (settings_problem(text, "correct the variables OTEL_..."),)
            return
        self.health = health
        self.trace = self._exports.make_tracer().begin

    def observe(self, yard: Yard) -> None:
        """Export the states of the yard, too."""
        if self._exports is not None:
            from toolyard.features.telemetry.gauges import observe

            observe(self._exports.meter, yard)

    async def close(self) -> None:
        """Send what is left, within a bound; where the collector is away, nothing is waited for."""
        if self._exports is not None:
            patience = () if not self.problems else (0.0,)
            await asyncio.to_thread(self._exports.close, *patience)
