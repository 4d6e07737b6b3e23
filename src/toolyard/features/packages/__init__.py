"""Packages: installed once, so that servers start without `npx`, `uvx` and `pipx`."""

from __future__ import annotations

from typing import Final

from toolyard.feature import Feature

FEATURE: Final = Feature(__name__, operations="operations")
"""Its commands stand below `executor`."""
