"""Reports what the user says of clients, so that it is on the picture like all else."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from toolyard.core.model import Report
from toolyard.core.passport import OVERRIDES, Override
from toolyard.records.protocol import Kept, Records
from toolyard.sources.followed import Followed

SOURCE: Final = "passports"


def follow_passports(records: Records[Override]) -> Followed[Override]:
    """A source of what is said of clients; while it cannot be read, what was said before stands."""
    return Followed(SOURCE, records, _report)


def _report(current: Kept[Override], before: Report) -> Report:
    if current.failure is not None:
        return replace(before, problems=current.problems)
    overrides = tuple(current.values.values())[:OVERRIDES]
    return Report(SOURCE, problems=current.problems, passports=overrides)
