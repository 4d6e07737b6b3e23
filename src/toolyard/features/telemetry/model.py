"""The plan of what is exported, read from the variables that OpenTelemetry names.

Nothing of OpenTelemetry is imported here: without a plan, it is not loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolyard.core.model import Problem
from toolyard.core.problems import ProblemCode

SOURCE: Final = "telemetry"
PROTOCOL: Final = "http/protobuf"
ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
USUAL_ENDPOINT: Final = "http://localhost:4318"
TRACES: Final = "traces"
METRICS: Final = "metrics"


@dataclass(frozen=True, slots=True)
class ExportPlan:
    """The signals that are exported, and where to."""

    traces: str = ""
    """The address that gets traces; empty if none does."""
    metrics: str = ""
    """The address that gets metrics; empty if none does."""
    problems: tuple[Problem, ...] = ()

    @property
    def is_on(self) -> bool:
        """True if anything is exported."""
        return bool(self.traces or self.metrics)


def read_plan(environ: Mapping[str, str]) -> ExportPlan:
    """Read the plan from an environment; without a variable that asks for it, nothing is exported.

    A variable that cannot be followed is a problem, and its signal is not exported.
    """
    if _word(environ, "OTEL_SDK_DISABLED") == "true":
        return ExportPlan()
    problems: list[Problem] = []
    traces, metrics = (_address(environ, signal, problems) for signal in (TRACES, METRICS))
    return ExportPlan(traces, metrics, tuple(problems))


def _address(environ: Mapping[str, str], signal: str, problems: list[Problem]) -> str:
    """The address that a signal goes to; empty if nobody asked, or it cannot be done."""
    own = f"OTEL_EXPORTER_OTLP_{signal.upper()}_"
    exporter_name = f"OTEL_{signal.upper()}_EXPORTER"
    exporter = _word(environ, exporter_name)
    address = environ.get(own + "ENDPOINT", "").strip()
    base = environ.get(ENDPOINT, "").strip()
    if exporter == "none" or not (exporter or address or base):
        return ""
    if exporter not in ("", "otlp"):
        text = f"{exporter_name} is {exporter!r}, which Toolyard does not have"
        problems.append(settings_problem(text, f"set {exporter_name} to otlp or none"))
        return ""
    for name in (own + "PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        protocol = _word(environ, name)
        if protocol in ("", PROTOCOL):
            if protocol:
                break  # the one of the signal counts more than the one of all
            continue
        text = f"{name} is {protocol!r}; {signal} are sent over HTTP"
        hint = f"set {name} to {PROTOCOL}, and the endpoint to the collector's port for it (4318)"
        problems.append(settings_problem(text, hint))
        return ""
    return address or f"{(base or USUAL_ENDPOINT).rstrip('/')}/v1/{signal}"


def settings_problem(text: str, hint: str) -> Problem:
    """A variable that cannot be followed, or a library that is not there."""
    return Problem(ProblemCode.TELEMETRY_SETTINGS, text, hint, SOURCE)


def _word(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name, "").strip().lower()
