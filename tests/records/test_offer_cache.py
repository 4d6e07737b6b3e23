"""What servers offered, remembered over restarts and versions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests.fixtures.postgres import OpenShared
from toolyard.core.model import (
    Command,
    Entry,
    Offer,
    Offers,
    Peer,
    Report,
    Server,
    ServerId,
    Snapshot,
)
from toolyard.records.offer_cache import OfferCache, OfferFiles, OfferPlace
from toolyard.records.postgres.offers import SharedOffers
from toolyard.records.postgres.shared import SharedDatabase

ENDPOINT = Command(("npx", "-y", "thing"), (("B", "ü"), ("A", "${T}")), "/d")
SERVER = Server(ServerId("a", "configured"), ENDPOINT)
OFFERS = Offers(tools=(Offer("t", b'{"name":"t"}'),))
OLD_MARK = "0b8309435b19429efc7f1fcb936219c0650a8935c398c554eba8915660025cc8"
"""What version 1 wrote for the endpoint above."""


def remembered(folder: Path, server: Server) -> Offers | None:
    event = OfferCache(OfferFiles(folder)).remember(Snapshot(), Report("configured", (server,)))
    assert isinstance(event, Report)
    return event.servers[0].offers


def kept(folder: Path) -> Path:
    OfferCache(OfferFiles(folder)).keep(
        Entry(SERVER, "a", offers=OFFERS, peer=Peer("modern", "2026-07-28"))
    )
    (file,) = folder.iterdir()
    return file


def test_what_a_server_offered_is_there_after_a_restart(tmp_path: Path) -> None:
    kept(tmp_path)
    assert remembered(tmp_path, SERVER) == OFFERS


def test_another_endpoint_is_another_server(tmp_path: Path) -> None:
    kept(tmp_path)
    assert remembered(tmp_path, Server(SERVER.id, Command(("npx", "-y", "other")))) is None


def test_what_the_first_version_kept_still_counts(tmp_path: Path) -> None:
    file = kept(tmp_path)
    said = msgspec.json.decode(file.read_bytes())
    file.write_bytes(msgspec.json.encode(said | {"version": 1, "declaration": OLD_MARK}))
    assert remembered(tmp_path, SERVER) == OFFERS
    file.write_bytes(msgspec.json.encode(said | {"version": 1}))
    assert remembered(tmp_path, SERVER) is None
    file.write_bytes(msgspec.json.encode(said | {"version": 3}))
    assert remembered(tmp_path, SERVER) is None


@pytest.fixture(params=["files", "database"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], OfferPlace]:
    """Opens the same place again and again, as a hub that starts anew would."""
    if request.param == "files":
        return lambda: OfferFiles(tmp_path)
    open_shared: OpenShared = request.getfixturevalue("open_shared")
    return lambda: SharedOffers(open_shared(True))


def test_every_place_gives_back_what_was_written_last(opened: Callable[[], OfferPlace]) -> None:
    ids = [ServerId(name, "configured") for name in ("a", "x" * 3000, "\0")]
    for content in (b"first", b"\0second\xff"):
        for id_ in ids:
            opened().write(id_, content)
        place = opened()
        assert [place.read(id_) for id_ in ids] == [content] * 3
    assert opened().read(ServerId("b", "configured")) is None


def test_a_hub_that_never_saw_a_server_remembers_what_it_offered_to_another(
    opened: Callable[[], OfferPlace],
) -> None:
    entry = Entry(SERVER, "a", offers=OFFERS, peer=Peer("modern", "2026-07-28"))
    OfferCache(opened()).keep(entry)
    event = OfferCache(opened()).remember(Snapshot(), Report("configured", (SERVER,)))
    assert isinstance(event, Report) and event.servers[0].offers == OFFERS


def test_without_its_database_a_hub_starts_and_remembers_nothing() -> None:
    database = SharedDatabase("postgresql://u@127.0.0.1:1/x", "yard", follows=True)
    place = SharedOffers(database)
    place.write(SERVER.id, b"something")
    assert place.read(SERVER.id) is None
