"""A plugin of pytest that writes how each test ended, for `scripts/proof.py`.

A test states its figure with the fixture `record_property("figure", "...")`.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

RESULTS = "TOOLYARD_PROOF_RESULTS"
"""The variable that names the file."""


class Result(msgspec.Struct, frozen=True):
    """The end of one phase of one test."""

    test: str
    phase: str
    outcome: str
    seconds: float
    figures: list[str]
    reason: str = ""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Append a line; with xdist, only the process that collects all reports does."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    figures = [str(value) for name, value in report.user_properties if name == "figure"]
    reason = str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else ""
    result = Result(
        report.nodeid, str(report.when), report.outcome, report.duration, figures, reason
    )
    with Path(os.environ[RESULTS]).open("ab") as file:
        file.write(msgspec.json.encode(result) + b"\n")
