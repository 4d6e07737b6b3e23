"""Questions and orders about sharing a process of a server between sessions."""

from __future__ import annotations

import asyncio
from typing import Final, Literal

import msgspec

from toolyard.core.endpoint import fingerprint
from toolyard.core.errors import UnknownNameError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.lookup import find_entry
from toolyard.core.sharing import Evidence
from toolyard.features.sharing.probing import probe
from toolyard.features.sharing.store import SharingStore
from toolyard.links.opening import Opener
from toolyard.operation import operation
from toolyard.yard import Yard

PATH: Final = "/api/v1/servers/{alias}/shareable"


class SharedServer(msgspec.Struct, frozen=True):
    """The server that is meant."""

    alias: str


class ProbeSharing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tools that may be called though they may change something, with their arguments."""

    alias: str
    calls: dict[str, JsonObject] = {}


class TrialRow(msgspec.Struct, frozen=True):
    """One question that two sessions asked, over one process and over two."""

    what: str
    comparable: bool
    leaks: bool


class EvidenceRow(msgspec.Struct, frozen=True):
    """All that was tried and seen, and the conclusion."""

    server: str
    verdict: Literal["shareable", "not", "unknown"]
    reasons: list[str]
    version: str
    tried_at: str
    trials: list[TrialRow]
    untried: list[str]
    lists: bool
    crossed: int
    unattributed: int
    greeted_again: str


@operation("GET", PATH, tag="servers")
async def get_sharing(yard: Yard, order: SharedServer) -> EvidenceRow:
    """The evidence about sharing a server."""
    server, store = find_entry(yard.snapshot, order.alias).server, yard.part(SharingStore)
    evidence = await asyncio.to_thread(store.get, str(server.id))
    if evidence is None or evidence.launch != fingerprint(server.endpoint):
        hint = f"try it with: toolyard server probe {order.alias}"
        raise UnknownNameError(f"{order.alias!r} was never tried as it is now", hint)
    return _row(evidence)


@operation("POST", PATH, tag="servers", errors=(422, 502, 504))
async def probe_sharing(yard: Yard, order: ProbeSharing) -> EvidenceRow:
    """Try whether sessions can share a server, and keep the evidence."""
    server = find_entry(yard.snapshot, order.alias).server
    evidence = await probe(yard.part(Opener), server, order.calls)
    await asyncio.to_thread(yard.part(SharingStore).put, evidence)
    # So that whatever is asked next counts on it.
    await yard.seen(lambda picture: picture.roster.tried.get(evidence.server) == evidence.gist)
    return _row(evidence)


def _row(evidence: Evidence) -> EvidenceRow:
    trials = [TrialRow(trial.what, trial.comparable, trial.leaks) for trial in evidence.trials]
    return EvidenceRow(
        evidence.server,
        evidence.verdict,
        list(evidence.reasons),
        evidence.version,
        evidence.tried_at,
        trials,
        list(evidence.untried),
        evidence.lists,
        evidence.crossed,
        evidence.unattributed,
        evidence.greeted_again,
    )
