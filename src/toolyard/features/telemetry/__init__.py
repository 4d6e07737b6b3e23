"""Telemetry: traces and metrics of the hub, for a collector of the user's own."""

from __future__ import annotations

from typing import Final

from toolyard.feature import Feature

FEATURE: Final = Feature(__name__, sources="source:sources")
