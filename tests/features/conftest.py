"""The command line and its stand-in hub, for the commands of features."""

from __future__ import annotations

from tests.cli.conftest import hub, toolyard

__all__ = ["hub", "toolyard"]
