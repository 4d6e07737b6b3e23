"""Whether a server can be shared, over the control API."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import msgspec

from toolyard.core.errors import UnknownNameError
from toolyard.core.sharing import Evidence
from toolyard.hub.shareable import Shareable
from toolyard.surfaces.control.api import Call, Operation

PATH = "/api/v1/servers/{alias}/shareable"


class PermittedCalls(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tools that may be called though they may change something, with their arguments."""

    calls: dict[str, dict[str, Any]] = {}


class TrialRow(msgspec.Struct, frozen=True):
    """One question that two sessions asked, over one process and over two."""

    what: str
    comparable: bool
    leaks: bool


class EvidenceRow(msgspec.Struct, frozen=True):
    """What was tried, what was seen, and what follows."""

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


class SharingDoor:
    """Questions and orders about sharing processes."""

    def __init__(self, shareable: Shareable) -> None:
        self._shareable = shareable

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        known, tried = "What is known of sharing it", "Try whether sessions can share it"
        errors = (422, 502, 504)
        return [
            Operation("GET", PATH, known, self._get, EvidenceRow, tag="servers"),
            Operation(
                "POST",
                PATH,
                tried,
                self._try,
                EvidenceRow,
                body=PermittedCalls,
                tag="servers",
                errors=errors,
            ),
        ]

    async def _get(self, call: Call) -> EvidenceRow:
        alias = call.path["alias"]
        found = await asyncio.to_thread(self._shareable.evidence, alias)
        if found is None:
            hint = f"try it with: toolyard shareable {alias}"
            raise UnknownNameError(f"{alias!r} was never tried as it is now", hint)
        return _row(found)

    async def _try(self, call: Call) -> EvidenceRow:
        return _row(await self._shareable.probe(call.path["alias"], call.body.calls))


def _row(evidence: Evidence) -> EvidenceRow:
    trials = [TrialRow(each.what, each.comparable, each.leaks) for each in evidence.trials]
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
