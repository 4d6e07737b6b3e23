"""The cache of what servers offered, so that a hub that starts again can list it at once.

A server is asked again as soon as it runs. An entry counts only for the very
declaration it was made with.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Final, Protocol

import msgspec
from msgspec import Raw

from toolyard.core.endpoint import Command, Endpoint, fingerprint
from toolyard.core.model import (
    NO_OFFERS,
    Entry,
    Event,
    Offer,
    Offers,
    Peer,
    Report,
    Server,
    ServerId,
    Snapshot,
)
from toolyard.records.places import RecordPlaces

KINDS: Final = ("tools", "prompts", "resources", "templates")
LIMIT: Final = 32 << 20
"""Bytes; more was not written by us."""


class _Memory(msgspec.Struct):
    """One server, as it is kept."""

    version: int
    declaration: str
    era: str
    protocol: str
    name: str
    release: str
    capabilities: Raw
    instructions: str
    offers: dict[str, list[tuple[str, Raw]]]


_decode: Final = msgspec.json.Decoder(_Memory).decode
_VERSION: Final = 2


class OfferPlace(Protocol):
    """The place of what servers offered; nothing of it is missed for long."""

    def read(self, id_: ServerId) -> bytes | None:
        """Return what was written of a server; it never waits for a database."""
        ...

    def write(self, id_: ServerId, content: bytes) -> None:
        """Write what a server offers; a failure costs nothing but the memory. It blocks."""
        ...


class OfferFiles:
    """One small file per server in a directory of ours; see `OfferPlace`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, id_: ServerId) -> bytes | None:
        """Return what was written of a server."""
        try:
            path = self._path(id_)
            return path.read_bytes() if path.stat().st_size <= LIMIT else None
        except OSError:
            return None

    def write(self, id_: ServerId, content: bytes) -> None:
        """Write what a server offers."""
        with contextlib.suppress(OSError):
            self._replace(self._path(id_), content)

    def _replace(self, path: Path, content: bytes) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = path.with_suffix(f".{os.getpid()}.new")
        # No fsync: what a crash takes away is asked for again.
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as out:
            out.write(content)
        fresh.replace(path)

    def _path(self, id_: ServerId) -> Path:
        name = hashlib.sha256(str(id_).encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self._folder / f"{name}.json"


class OfferCache:
    """The offers of servers as they were last seen; a stage of the board."""

    def __init__(self, place: OfferPlace) -> None:
        self._place = place
        self._kept: dict[ServerId, tuple[Endpoint, Offers]] = {}

    def remember(self, _snapshot: Snapshot, event: Event) -> Event:
        """Return a report with what its servers offered when last seen; all else as it is."""
        if not isinstance(event, Report) or not event.servers:
            return event
        return replace(event, servers=tuple(self._remembered(server) for server in event.servers))

    def _remembered(self, server: Server) -> Server:
        if server.offers is not None:
            return server
        memory = self._read(server)
        if memory is None:
            return server
        kinds = {
            kind: tuple(Offer(key, bytes(raw)) for key, raw in memory.offers.get(kind, ()))
            for kind in KINDS
        }
        peer = Peer(
            "modern" if memory.era == "modern" else "legacy",
            memory.protocol,
            memory.name,
            memory.release,
            bytes(memory.capabilities),
            memory.instructions,
        )
        return replace(server, offers=Offers(**kinds), peer=peer)

    def _read(self, server: Server) -> _Memory | None:
        content = self._place.read(server.id)
        if content is None:
            return None
        try:
            memory = _decode(content)
        except msgspec.DecodeError:
            return None
        mark = _MARKS.get(memory.version)
        return memory if mark and memory.declaration == mark(server.endpoint) else None

    def is_news(self, entry: Entry) -> bool:
        """Whether an entry says something that is not kept yet."""
        if entry.peer is None or entry.offers == NO_OFFERS:
            return False
        kept = self._kept.get(entry.server.id)
        return kept is None or kept[0] != entry.server.endpoint or kept[1] is not entry.offers

    def keep(self, entry: Entry) -> None:
        """Write down what a server offers; a failure costs nothing but the memory."""
        self._kept[entry.server.id] = (entry.server.endpoint, entry.offers)
        peer = entry.peer
        if peer is None:
            return
        offers = {
            kind: [(offer.key, Raw(offer.raw)) for offer in getattr(entry.offers, kind)]
            for kind in KINDS
        }
        memory = _Memory(
            version=_VERSION,
            declaration=fingerprint(entry.server.endpoint),
            era=peer.era,
            protocol=peer.version,
            name=peer.name,
            release=peer.release,
            capabilities=Raw(peer.capabilities),
            instructions=peer.instructions,
            offers=offers,
        )
        self._place.write(entry.server.id, msgspec.json.encode(memory))


def open_offer_cache(places: RecordPlaces, folder: Path) -> OfferCache:
    """Open the cache of this hub, or that of all hubs that share a database."""
    if places.shared is None:
        return OfferCache(OfferFiles(folder))
    from toolyard.records.postgres.offers import SharedOffers

    return OfferCache(SharedOffers(places.shared))


def _first_mark(endpoint: Endpoint) -> str:
    """Return what stood for an endpoint in version 1; such files are replaced as servers run."""
    if isinstance(endpoint, Command):
        parts: object = [endpoint.argv, endpoint.env, endpoint.cwd]
    else:
        parts = [endpoint.url, endpoint.kind, endpoint.headers]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()


_MARKS: Final = {1: _first_mark, _VERSION: fingerprint}
"""What must be the same for a memory to count, by the version of its file."""
