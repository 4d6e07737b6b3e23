"""Tests of links wait little where people would not mind."""

from __future__ import annotations

import pytest

from toolyard.links import pool


@pytest.fixture(autouse=True)
def _no_courtesy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "LET_IN_SECONDS", 0.0)
