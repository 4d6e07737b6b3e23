"""What people order about trust: verify, look at what changed, approve."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from toolyard.core.catalog import Verification
from toolyard.core.errors import ConfigError, LinkError, TakenError, UnknownNameError
from toolyard.core.model import Held, Part, Server, ServerId
from toolyard.core.names import closest, quoted
from toolyard.core.parts import parts_of
from toolyard.core.pins import Change, differences, spelled_out
from toolyard.core.problems import ProblemCode
from toolyard.hub import Hub
from toolyard.hub.approvals import Approvals
from toolyard.hub.verify import SECONDS, Verified, leased, opened_alone, verify
from toolyard.links.instances import OpenFor
from toolyard.sources.catalog import make_server
from toolyard.stores.added import Addition
from toolyard.stores.catalog import Catalog
from toolyard.stores.pins import Pinned

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
    held: Held
    pinned: Pinned
    changes: tuple[Change, ...]


class Checks:
    """Observed is not approved: how one becomes the other."""

    def __init__(
        self,
        hub: Hub,
        approvals: Approvals,
        catalog: Catalog,
        words: Words,
        open_for: OpenFor,
        env: Mapping[str, str],
    ) -> None:
        self._hub = hub
        self._approvals = approvals
        self._catalog = catalog
        self._words = words
        self._open = open_for
        self._env = env

    async def verify(self, alias: str, seconds: float = SECONDS) -> Verified:
        """See what a server really offers; write it down if it is one of the catalog.

        A definition that is not in the yard is tried by itself, and ended again.

        Raises:
            UnknownNameError: There is no such server or definition.
            LinkError: It did not answer in time, or failed; nothing was written.
            StoreError, ConfigError: What it said cannot be written down.
        """
        try:
            server = self._hub.entry(alias).server
            reached = leased(self._hub.pool, server.id)
        except UnknownNameError:
            defined = await asyncio.to_thread(self._defined, alias)
            if defined is None:
                raise
            server, reached = defined, opened_alone(self._open, defined)
        if not server.enabled:
            raise LinkError(f"{alias!r} is disabled", f"run: toolyard enable {alias}")
        if server.problem is not None:
            raise LinkError(server.problem.text, server.problem.hint)
        compare, name = await self._comparison(server), server.id.name
        found = await verify(name, reached, compare, seconds, partial(self._last_words, server))
        if server.id.source == CATALOG:
            await asyncio.to_thread(self._record, name, found)
        return found

    def _defined(self, name: str) -> Server | None:
        """The server that a definition of the catalog would be, with what the environment gives."""
        shelved = self._catalog.load().definitions.get(name.removesuffix(f"@{CATALOG}"))
        return make_server(shelved.definition, Addition(), self._env) if shelved else None

    def _last_words(self, server: Server) -> tuple[str, ...]:
        keeper = self._hub.pool.keepers.get(server.id)
        return self._words(server.id.name) or (keeper.trace if keeper is not None else ())

    async def _comparison(
        self, server: Server
    ) -> Callable[[dict[Part, bytes]], tuple[Change, ...]]:
        """Says how parts differ from what is on file: in the catalog, or approved."""
        if server.id.source != CATALOG:
            return partial(self._unlike, server.id)
        shelf = await asyncio.to_thread(self._catalog.load)
        listed = shelf.get(server.id.name).definition.listed
        return partial(differences, parts_of(listed, None))

    def _unlike(self, id_: ServerId, parts: dict[Part, bytes]) -> tuple[Change, ...]:
        """How parts differ from what was approved, or from what was listed though nobody looked."""
        unseen = self._approvals.pinned(id_).unseen
        found = differences(self._approvals.definitions(id_), parts)
        changed = {change.part for change in found}
        told = [each for each in found if each.kind != "missing" or each.part not in unseen]
        fresh = differences({}, {p: raw for p, raw in parts.items() if p in unseen - changed})
        return tuple(sorted((*told, *fresh), key=lambda change: (change.kind, change.part)))

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
        held, pinned = entry.held, self._approvals.pinned(id_)
        is_judged = bool(held.parts or pinned.parts)
        parts = parts_of(entry.offers, entry.peer) if is_judged else {}
        return Differences(
            alias=entry.alias,
            mark=self._approvals.mark(entry),
            launch=problem is not None and problem.code == ProblemCode.PIN_LAUNCH,
            held=held,
            pinned=pinned,
            changes=tuple(
                # What was never listed has no text to compare with: all of it is to be read.
                replace(change, fields=spelled_out(change.part, parts[change.part]))
                if change.kind == "new" and change.part in held.parts
                else change
                for change in self._unlike(id_, parts)
            ),
        )

    def approve(
        self,
        alias: str,
        parts: Collection[Part] = (),
        mark: str = "",
        *,
        any_text: bool = False,
    ) -> tuple[Part, ...]:
        """Approve what a server offers and how it is started, or some parts; give what waited.

        With `any_text`, the descriptions and titles of these parts may change from now on.

        Raises:
            UnknownNameError: There is no such server or part.
            MovedOnError: It is not what `mark` stands for any more.
            ConfigError, StoreError: It cannot be approved.
        """
        entry = self._hub.entry(alias)
        offered = parts_of(entry.offers, entry.peer)
        for part in parts:
            if part not in offered:
                raise _unknown(alias, part, [key for kind, key in offered if kind == part[0]])
        if any_text and not parts:
            text = "any text can be approved for parts that are named, not for a whole server"
            raise ConfigError(text, "name the tool")
        if mark and mark != self._approvals.mark(entry):
            text = f"{alias!r} has changed since you looked"
            raise MovedOnError(text, f"look again with: toolyard changes {alias}")
        judgement = self._approvals.approve(entry, frozenset(parts), any_text=any_text)
        self._hub.board.post(judgement)
        return tuple(sorted(entry.held.parts - judgement.held.parts))


def _unknown(alias: str, part: Part, known: list[str]) -> UnknownNameError:
    kind, key = part
    near = ", ".join(closest(key, known) or known[:20]) or "none"
    word = kind if kind == "instructions" else kind.removesuffix("s")
    return UnknownNameError(f"{alias!r} has no {word} {quoted(key)}", f"there are: {near}")
