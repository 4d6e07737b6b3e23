"""The quirks that the user sets for clients, on the picture like all else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from toolyard.core.model import Report
from toolyard.core.quirks import MOST_CLIENTS, ClientQuirk
from toolyard.features.quirks.store import FILE, LARGEST, QuirkCodec, QuirkRecords, rename_former
from toolyard.records.document import DocumentFile
from toolyard.records.followed import Followed
from toolyard.records.places import RecordPlaces
from toolyard.records.protocol import Kept
from toolyard.relay.quirks import SOURCE
from toolyard.settings import Settings
from toolyard.yard import Yard


def parts(yard: Yard) -> Iterable[object]:
    """The quirks; as a file they are beside the servers file."""
    path = yard.part(Settings).config_file.parent / FILE
    if yard.part(RecordPlaces).shared is None:
        rename_former(DocumentFile(path, largest=LARGEST))
    yield QuirkRecords(
        yard.part(RecordPlaces).document("quirk", path, QuirkCodec(), largest=LARGEST)
    )


def sources(yard: Yard) -> Sequence[Followed[ClientQuirk]]:
    """The source of all quirks; while they cannot be read, those of before stand."""
    return [Followed(SOURCE, yard.part(QuirkRecords), _report)]


def _report(current: Kept[ClientQuirk], before: Report) -> Report:
    if current.failure is not None:
        return replace(before, problems=current.problems)
    quirks = tuple(current.values.values())[:MOST_CLIENTS]
    return Report(SOURCE, problems=current.problems, quirks=quirks)
