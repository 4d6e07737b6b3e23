"""Client quirks: the limits of each client, and what the user sets otherwise."""

from __future__ import annotations

from typing import Final

from toolyard.feature import Feature

FEATURE: Final = Feature(
    __name__,
    parts="source:parts",
    sources="source:sources",
    operations="operations",
)
