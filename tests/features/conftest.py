"""The command line, its stand-in hub and keyrings, for the features."""

from __future__ import annotations

from tests.cli.conftest import hub, toolyard
from tests.fixtures.keyrings import a_keyring, no_keyring

__all__ = ["a_keyring", "hub", "no_keyring", "toolyard"]
