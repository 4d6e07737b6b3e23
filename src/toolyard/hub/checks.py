"""What people order about trust: verify, look at what changed, approve, lock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from toolyard.core.catalog import Package, Verification
from toolyard.core.errors import LinkError, TakenError, UnknownNameError
from toolyard.core.fold import LAUNCH_HELD
from toolyard.core.locks import Locked
from toolyard.core.model import Entry
from toolyard.core.names import closest, quoted
from toolyard.core.pins import Change, differences
from toolyard.hub import Hub
from toolyard.hub.pins import Pins
from toolyard.hub.verify import SECONDS, Verified, verify
from toolyard.stores.catalog import Catalog

CATALOG: Final = "catalog"
Words = Callable[[str], tuple[str, ...]]
"""Gives the last lines that a server of that name wrote to its stderr, also while it starts."""


class MovedOnError(TakenError):
    """What is to be approved is no longer what was looked at."""


@dataclass(frozen=True, slots=True)
class Differences:
    """How a server differs from what was approved."""

    alias: str
    mark: str
    """What stands for this state; an approval can name it."""
    launch: bool
    """Whether the way it is started waits for approval."""
    held: tuple[str, ...]
    fresh: tuple[str, ...]
    changes: tuple[Change, ...]


class Checks:
    """Observed is not approved: how one becomes the other."""

    def __init__(self, hub: Hub, pins: Pins, catalog: Catalog, words: Words) -> None:
        self._hub = hub
        self._pins = pins
        self._catalog = catalog
        self._words = words

    async def verify(self, alias: str, seconds: float = SECONDS) -> Verified:
        """See what a server really offers; write it down if it is one of the catalog.

        Raises:
            UnknownNameError: There is no such server.
            LinkError: It did not answer in time, or failed; nothing was written.
            StoreError, ConfigError: What it said cannot be written down.
        """
        entry = self._hub.entry(alias)
        problem = entry.server.problem
        if not entry.server.enabled:
            raise LinkError(f"{alias!r} is disabled", f"run: toolyard enable {alias}")
        if problem is not None:
            raise LinkError(problem.text, problem.hint)
        on_file = await self._on_file(entry)
        found = await verify(self._hub.pool, entry, on_file, seconds, self._words)
        if entry.server.id.source == CATALOG:
            await asyncio.to_thread(self._record, entry.server.id.name, found)
        return found

    async def _on_file(self, entry: Entry) -> dict[str, bytes]:
        if entry.server.id.source != CATALOG:
            return self._pins.definitions(entry.server.id)
        shelf = await asyncio.to_thread(self._catalog.load)
        listed = shelf.get(entry.server.id.name).definition.listed
        return {offer.key: offer.raw for offer in listed.tools}

    def _record(self, name: str, found: Verified) -> None:
        peer, offers = found.peer, found.offers
        seen = Verification(
            verified_at=found.verified_at,
            protocol_version=peer.version,
            era=peer.era,
            server_name=peer.name,
            server_version=peer.release,
            first_answer_ms=found.first_answer_ms,
            schema_tokens=found.tokens,
            capabilities=peer.capabilities,
            instructions=peer.instructions,
        )
        self._catalog.record(
            name,
            seen,
            [offer.raw for offer in offers.tools],
            [offer.raw for offer in offers.prompts],
            [offer.raw for offer in offers.resources],
            [offer.raw for offer in offers.templates],
        )

    def changes(self, alias: str) -> Differences:
        """How a server differs from what was approved of it.

        Raises:
            UnknownNameError: There is no such server.
            StoreError: What was approved cannot be read.
        """
        entry = self._hub.entry(alias)
        problem, id_ = entry.server.problem, entry.server.id
        known = self._pins.definitions(id_)
        return Differences(
            alias=entry.alias,
            mark=self._pins.mark(entry),
            launch=problem is not None and problem.code == LAUNCH_HELD,
            held=tuple(sorted(entry.held)),
            fresh=tuple(sorted(self._pins.fresh(id_))),
            changes=differences(known, entry.offers.tools) if known else (),
        )

    def approve(self, alias: str, tools: tuple[str, ...] = (), mark: str = "") -> tuple[str, ...]:
        """Approve what a server offers and how it is started, or some tools; give what waited.

        Raises:
            UnknownNameError: There is no such server or tool.
            MovedOnError: It is not what `mark` stands for any more.
            ConfigError, StoreError: It cannot be approved.
        """
        entry = self._hub.entry(alias)
        offered = [offer.key for offer in entry.offers.tools]
        for tool in tools:
            if tool not in offered:
                near = ", ".join(closest(tool, offered) or offered[:20]) or "none"
                raise UnknownNameError(
                    f"{alias!r} has no tool {quoted(tool)}", f"there are: {near}"
                )
        if mark and mark != self._pins.mark(entry):
            text = f"{alias!r} has changed since you looked"
            raise MovedOnError(text, f"look again with: toolyard changes {alias}")
        return tuple(sorted(self._pins.approve(entry, frozenset(tools))))

    def lock(self) -> dict[str, Locked]:
        """What a lock file would say of the yard as it is: the servers that people chose.

        A server that is switched off is none of a team's matters.
        """
        shelf = self._catalog.load().definitions
        found: dict[str, Locked] = {}
        for id_, entry in self._hub.snapshot.entries.items():
            package = ""
            if id_.source == CATALOG and id_.name in shelf:
                package = _package(shelf[id_.name].definition.package)
            locked = self._pins.locked(entry, package) if entry.server.enabled else None
            if locked is not None:
                found[str(id_)] = locked
        return found


def _package(package: Package | None) -> str:
    if package is None:
        return ""
    return f"{package.kind}:{package.name}" + (f"@{package.version}" if package.version else "")
