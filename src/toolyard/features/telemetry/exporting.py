"""The way to the collector: batches over HTTP, sent by threads of their own.

This is the only module that loads the exporters; it is loaded only where somebody asked for them.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any, Final

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import Meter, NoOpMeterProvider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    MetricExportResult,
    MetricsData,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.trace import NoOpTracerProvider, Tracer

from toolyard import __version__
from toolyard.features.telemetry.health import CollectorHealth
from toolyard.features.telemetry.model import METRICS, TRACES, ExportPlan
from toolyard.features.telemetry.names import (
    BUCKETS,
    CLIENT_DURATION,
    INSTRUMENTS,
    SERVER_DURATION,
)
from toolyard.features.telemetry.spans import RequestTracer

SERVICE: Final = "toolyard"
CLOSE_SECONDS: Final = 2.0
"""The time in which the last batch is sent when the hub stops."""
_CHATTY: Final = (
    "opentelemetry.exporter",
    "opentelemetry.sdk._shared_internal",
    "opentelemetry.sdk.metrics._internal.export",
    "opentelemetry.trace",
)
"""Loggers that repeat with every batch what a problem says once, or what a client sent."""


class WatchedSpans(OTLPSpanExporter):
    """Sends spans, and tells whether they were taken."""

    def __init__(self, health: CollectorHealth, address: str) -> None:
        super().__init__(endpoint=address)
        self._health = health
        self._address = address

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send a batch."""
        result = super().export(spans)
        is_taken = result is SpanExportResult.SUCCESS
        self._health.note(TRACES, self._address, is_taken=is_taken)
        return result


class WatchedMetrics(OTLPMetricExporter):
    """Sends metrics, and tells whether they were taken."""

    def __init__(self, health: CollectorHealth, address: str) -> None:
        super().__init__(endpoint=address)
        self._health = health
        self._address = address

    def export(
        self, metrics_data: MetricsData, timeout_millis: float | None = 10_000, **kwargs: Any
    ) -> MetricExportResult:
        """Send a batch."""
        result = super().export(metrics_data, timeout_millis, **kwargs)
        is_taken = result is MetricExportResult.SUCCESS
        self._health.note(METRICS, self._address, is_taken=is_taken)
        return result


class Exports:
    """The providers of spans and metrics of this hub, as its plan has them."""

    def __init__(self, plan: ExportPlan, health: CollectorHealth, replica: str) -> None:
        """Build them, for the hub of this name.

        Raises:
            ValueError: A variable has a value that cannot be followed.
        """
        for name in _CHATTY:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        resource = Resource.create(_about(os.environ, replica))
        self._traces: TracerProvider | None = None
        self._metrics: MeterProvider | None = None
        if plan.traces:
            self._traces = TracerProvider(resource=resource, shutdown_on_exit=False)
            processor = BatchSpanProcessor(WatchedSpans(health, plan.traces))
            self._traces.add_span_processor(processor)
        if plan.metrics:
            reader = PeriodicExportingMetricReader(WatchedMetrics(health, plan.metrics))
            self._metrics = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
        self.tracer: Tracer = (self._traces or NoOpTracerProvider()).get_tracer(
            SERVICE, __version__
        )
        self.meter: Meter = (self._metrics or NoOpMeterProvider()).get_meter(SERVICE, __version__)

    def make_tracer(self) -> RequestTracer:
        """Make what begins the spans of requests."""
        as_server, as_client = (
            self.meter.create_histogram(
                name,
                INSTRUMENTS[name],
                text,
                explicit_bucket_boundaries_advisory=BUCKETS,
            )
            for name, text in (
                (SERVER_DURATION, "Requests of clients, from their arrival to the answer."),
                (CLIENT_DURATION, "Requests to servers, until they have answered."),
            )
        )
        return RequestTracer(self.tracer, as_server, as_client)

    def close(self, patience: float = CLOSE_SECONDS) -> None:
        """Send what is left, and wait for that for so many seconds; blocks."""
        providers = [one for one in (self._traces, self._metrics) if one is not None]
        threads = [threading.Thread(target=one.shutdown, daemon=True) for one in providers]
        for thread in threads:
            thread.start()
        end = monotonic() + patience
        for thread in threads:
            thread.join(max(0.0, end - monotonic()))


def _about(environ: Mapping[str, str], replica: str) -> dict[str, str]:
    """The hub, as a resource; its name only where the user gave it no other."""
    about = {"service.version": __version__, "service.instance.id": replica}
    given = environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    if not environ.get("OTEL_SERVICE_NAME") and "service.name=" not in given:
        about["service.name"] = SERVICE
    return about
