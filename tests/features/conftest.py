"""The command line, its stand-in hub and keyrings, for the features."""

from __future__ import annotations

from tests.cli.conftest import hub, toolyard
from tests.fixtures.keyrings import a_keyring, no_keyring
from tests.fixtures.own_home import own_home

__all__ = ["a_keyring", "hub", "no_keyring", "own_home", "toolyard"]
