"""Notes of what clients wish: the last one counts, and all of them are bounded."""

from __future__ import annotations

import pytest

from toolyard.relay.routes import NO_OFFER, Route
from toolyard.relay.session import Session
from toolyard.relay.session_notes import NO_NOTE, NOTE_CHARS, NotesHere, SessionNote, keep_note


def session(*watched: str, replica: str = "a", level: str | None = None) -> Session:
    routes = {uri: Route(None, uri, NO_OFFER) for uri in watched}
    return Session("me", print, replica=replica, log_level=level, watched=routes)


async def test_the_last_note_counts_and_an_empty_one_is_none() -> None:
    notes = NotesHere()
    keep_note(notes, session("a://1", level="error"))
    keep_note(notes, session("a://1", "a://2", level="info"))
    assert await notes.read("me") == SessionNote("info", ("a://1", "a://2"))

    keep_note(notes, session())

    assert await notes.read("me") == NO_NOTE == await notes.read("somebody")


async def test_a_session_that_nobody_can_take_up_is_not_noted() -> None:
    notes = NotesHere()
    keep_note(notes, session("a://1", replica=""))
    assert await notes.read("me") == NO_NOTE


async def test_of_too_many_resources_the_first_are_noted() -> None:
    notes = NotesHere()
    uris = [f"a://{number:04}".ljust(2048, "x") for number in range(10)]
    keep_note(notes, session(*uris))
    assert (await notes.read("me")).watched == tuple(uris[: NOTE_CHARS // 2048])


@pytest.mark.parametrize("limits", [(30, 1000), (1000, 30 * 5)])
async def test_of_too_many_notes_the_oldest_goes(limits: tuple[int, int]) -> None:
    notes = NotesHere(*limits)
    for number in range(100):
        notes.write(str(number), SessionNote(None, ("a://1",)))
    left = [number for number in range(100) if await notes.read(str(number)) != NO_NOTE]
    assert left == list(range(70, 100))
