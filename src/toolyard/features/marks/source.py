"""The marks that were set, on the picture like all else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from toolyard.core.marks import EVERY, ToolMark
from toolyard.core.model import Report
from toolyard.core.tiers import Tier
from toolyard.features.marks.store import FILE, MarkRecords, MarksCodec, ServerMarks
from toolyard.records.followed import Followed
from toolyard.records.places import RecordPlaces
from toolyard.records.protocol import Kept
from toolyard.settings import Settings
from toolyard.yard import Yard

SOURCE: Final = "marks"
_WORST: Final = Tier.DESTROY.value


def parts(yard: Yard) -> Iterable[object]:
    """The marks; as a file they are beside the servers file."""
    path = yard.part(Settings).config_file.parent / FILE
    yield MarkRecords(yard.part(RecordPlaces).document("mark", path, MarksCodec()))


def sources(yard: Yard) -> Sequence[Followed[ServerMarks]]:
    """The source of all marks."""
    return [Followed(SOURCE, yard.part(MarkRecords), _report)]


def _report(kept: Kept[ServerMarks], before: Report) -> Report:
    """Report the marks; where they cannot be read, each tool may be one that destroys."""
    if kept.failure is not None:
        marks = before.marks or (ToolMark(EVERY, EVERY, _WORST),)
        return replace(before, problems=kept.problems, marks=marks)
    unknown = [ToolMark(server, EVERY, _WORST) for server in kept.troubles]
    read = [
        ToolMark(server, tool, tier.value)
        for server, tools in kept.values.items()
        for tool, tier in tools.items()
    ]
    return Report(SOURCE, problems=kept.problems, marks=(*unknown, *read))
