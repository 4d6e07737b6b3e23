"""Sessions: the clients that are connected now, whose they are, and the end of one."""

from __future__ import annotations

from typing import Final

from toolyard.feature import Feature

FEATURE: Final = Feature(__name__, operations="operations")
