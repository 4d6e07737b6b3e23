"""What the robustness tests share: servers wanted at once, and nothing else."""

from __future__ import annotations

import pytest

from toolyard.links import pool


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pause before the first start: a test has no first client to let in."""
    monkeypatch.setattr(pool, "LET_IN_SECONDS", 0.0)
