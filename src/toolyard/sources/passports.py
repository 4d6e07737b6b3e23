"""Reports what the user says of clients, so that it is on the picture like all else."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from toolyard.core.model import Report
from toolyard.sources.followed import Followed
from toolyard.stores.passports import LoadedPassports, PassportsFile

SOURCE: Final = "passports"
LOOK_SECONDS: Final = 0.5
"""How often the file is looked at; one call of the system."""


def follow_passports(file: PassportsFile) -> Followed[LoadedPassports]:
    """A source of what one file says; while it cannot be read, what it said before stands."""
    return Followed(SOURCE, file, _report, LOOK_SECONDS)


def _report(loaded: LoadedPassports, before: Report) -> Report:
    if not loaded.is_readable:
        return replace(before, problems=loaded.problems)
    return Report(SOURCE, problems=loaded.problems, passports=loaded.overrides)
