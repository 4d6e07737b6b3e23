"""Questions and orders about notes."""

from __future__ import annotations

from msgspec import Struct

from tests.house.notes.wall import Wall
from toolyard.core.model import Snapshot
from toolyard.operation import Needs, NoInput, Ordered, operation
from toolyard.yard import Yard


class Note(Struct, frozen=True, forbid_unknown_fields=True):
    """A note to pin."""

    text: str


class NoteList(Struct, frozen=True):
    """All that hangs on the wall."""

    notes: list[str]


@operation("GET", "/api/v1/notes", needs=Needs.FILES)
async def list_notes(yard: Yard, order: NoInput) -> NoteList:
    """All notes."""
    return NoteList(_notes(yard.snapshot))


@operation("POST", "/api/v1/notes", needs=Needs.FILES)
async def pin_note(yard: Yard, order: Note) -> Ordered:
    """Pin a note to the wall."""
    yard.part(Wall).write(order.text)
    return Ordered(order.text, await yard.seen(lambda picture: order.text in _notes(picture)))


def _notes(snapshot: Snapshot) -> list[str]:
    state = snapshot.sources.get("notes")
    return [problem.text for problem in state.report.problems] if state else []
