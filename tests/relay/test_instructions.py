"""What servers say shares the room there is."""

from __future__ import annotations

import pytest

from toolyard.core.fold import fold
from toolyard.core.model import (
    Command,
    Observation,
    Peer,
    Report,
    Server,
    ServerId,
    Snapshot,
    Status,
)
from toolyard.relay.instructions import instructions
from toolyard.relay.view import View
from toolyard.relay.view_key import ViewKey
from toolyard.relay.view_making import make_view

OWN = "Own words."


def view(*texts: str) -> View:
    """A view of servers that say these texts."""
    ids = [ServerId(f"s{number:03}", "configured") for number in range(len(texts))]
    servers = tuple(Server(id_, Command(("x",))) for id_ in ids)
    snapshot = fold(Snapshot(), Report("configured", servers))
    for id_, text in zip(ids, texts, strict=True):
        peer = Peer("legacy", "2025-11-25", instructions=text)
        snapshot = fold(snapshot, Observation(id_, Status.READY, peer=peer))
    return make_view(snapshot, ViewKey(), None, {})


def test_without_a_word_of_servers_the_hub_speaks_alone() -> None:
    assert instructions(view("", " \n"), OWN) == OWN


@pytest.mark.parametrize("lengths", [(5000, 5000), (10, 9000, 4000), (9000,) * 7, (3000, 1, 9000)])
def test_short_texts_stay_whole_and_the_room_is_used(lengths: tuple[int, ...]) -> None:
    texts = ["x" * length for length in lengths]
    said = instructions(view(*texts), OWN)
    assert 8192 - 60 * len(lengths) < len(said) <= 8192
    shortest_cut = min(
        part.count("x") for part in said.split("The server")[1:] if "[cut by toolyard" in part
    )
    for text, part in zip(texts, said.split("The server")[1:], strict=True):
        assert text in part or part.count("x") == shortest_cut


def test_all_is_told_where_there_is_room() -> None:
    said = instructions(view("a" * 3000, "b" * 4000), OWN)
    assert "a" * 3000 in said and "b" * 4000 in said and "[" not in said


def test_of_too_many_servers_the_first_are_heard() -> None:
    said = instructions(view(*["x" * 500] * 200), OWN, 2048)
    assert len(said) <= 2048
    shown = said.count("The server ")
    assert 5 < shown < 20
    assert said.endswith(f"[toolyard left out what {200 - shown} more servers say]")
