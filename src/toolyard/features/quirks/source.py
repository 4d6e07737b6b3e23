"""The quirks that the user sets for clients, on the picture like all else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from toolyard.core.model import Report
from toolyard.core.quirks import MOST_CLIENTS, ClientQuirk
from toolyard.features.quirks.store import FILE, QuirkRecords
from toolyard.records.follow import Follower
from toolyard.records.followed import Followed
from toolyard.records.protocol import Kept
from toolyard.relay.quirks import SOURCE
from toolyard.settings import Settings
from toolyard.yard import Yard


def parts(yard: Yard) -> Iterable[object]:
    """The file of quirks, beside the servers file."""
    path = yard.part(Settings).config_file.parent / FILE
    records = QuirkRecords(path, yard.part(Follower))
    records.rename_former()
    yield records


def sources(yard: Yard) -> Sequence[Followed[ClientQuirk]]:
    """The source of all quirks of the file; while it cannot be read, those of before stand."""
    return [Followed(SOURCE, yard.part(QuirkRecords), _report)]


def _report(current: Kept[ClientQuirk], before: Report) -> Report:
    if current.failure is not None:
        return replace(before, problems=current.problems)
    quirks = tuple(current.values.values())[:MOST_CLIENTS]
    return Report(SOURCE, problems=current.problems, quirks=quirks)
