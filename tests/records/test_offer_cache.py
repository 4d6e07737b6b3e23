"""What servers offered, remembered over restarts and versions."""

from __future__ import annotations

from pathlib import Path

import msgspec

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
from toolyard.records.offer_cache import OfferCache

ENDPOINT = Command(("npx", "-y", "thing"), (("B", "ü"), ("A", "${T}")), "/d")
SERVER = Server(ServerId("a", "configured"), ENDPOINT)
OFFERS = Offers(tools=(Offer("t", b'{"name":"t"}'),))
OLD_MARK = "0b8309435b19429efc7f1fcb936219c0650a8935c398c554eba8915660025cc8"
"""What version 1 wrote for the endpoint above."""


def remembered(folder: Path, server: Server) -> Offers | None:
    event = OfferCache(folder).remember(Snapshot(), Report("configured", (server,)))
    assert isinstance(event, Report)
    return event.servers[0].offers


def kept(folder: Path) -> Path:
    OfferCache(folder).keep(Entry(SERVER, "a", offers=OFFERS, peer=Peer("modern", "2026-07-28")))
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
