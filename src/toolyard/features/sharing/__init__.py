"""Sharing: whether sessions can share a process of a server, tried and remembered."""

from __future__ import annotations

from typing import Final

from toolyard.feature import Feature

FEATURE: Final = Feature(__name__, operations="operations")
