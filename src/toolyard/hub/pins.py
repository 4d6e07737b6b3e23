"""Judges what servers offer against what was approved, before anybody sees it."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Final, Literal

from toolyard.board import Board
from toolyard.core.catalog import Definition
from toolyard.core.errors import ConfigError, StoreError
from toolyard.core.fold import LAUNCH_HELD
from toolyard.core.locks import Lock, Locked
from toolyard.core.model import (
    Entry,
    Event,
    Judgement,
    Observation,
    Offers,
    Problem,
    Report,
    Server,
    ServerId,
)
from toolyard.core.pins import New, judge, launch_hash, offers_hash, tool_hash
from toolyard.stores.pins import PinStore

log = logging.getLogger(__name__)

CATALOG: Final = "catalog"
DECLARED: Final = frozenset({"configured", CATALOG, "agents"})
"""Sources of servers that people chose. All others find servers, which are under development more
often than not; the bundled one is ours and changes with us."""
OURS: Final = "bundled"
LOCK_DIFFERS: Final = "pin-lock"
"""The problem of a server that is not as the lock file has it."""
_HASHES: Final = 20_000

Launches = Literal["catalog", "all", "off"]


@dataclass(frozen=True, slots=True)
class Rules:
    """What is judged, and how strictly."""

    new: New = "list"
    """What to do with a tool that comes later: list it and say so, or let it wait too."""
    found: bool = False
    """Whether servers that were found are judged like those that people chose."""
    launches: Launches = "catalog"
    """Of which servers a changed launch waits."""
    trusts_first: bool = True
    """Whether what a server offers when it is first seen is trusted; not where it may be that
    it was seen before, and that was lost."""
    lock: Lock | None = None
    """All that counts as approved, if there is one."""

    def judges(self, source: str) -> bool:
        """Whether the tools of a source's servers are judged."""
        return source in DECLARED or (self.found and source != OURS)

    def judges_launch(self, source: str) -> bool:
        """Whether a changed launch of a source's servers waits."""
        if self.launches == "catalog" and self.lock is None:
            return source == CATALOG
        return self.judges(source) and (self.launches != "off" or self.lock is not None)


class Pins:
    """Holds back what changed since it was approved.

    It stands between those who know of servers and the board, so that there is
    no moment in which a changed tool is on the picture and not yet held.
    """

    def __init__(self, board: Board, store: PinStore | None, rules: Rules | None = None) -> None:
        self._board = board
        self._store = store
        self._rules = rules or Rules()
        self._hashes: dict[bytes, str] = {}

    def post(self, event: Event) -> None:
        """Judge an event and post it."""
        try:
            event = self._judged(event)
        except StoreError as error:
            # Without a memory of what was approved everything waits; better than nothing waiting.
            log.error("pins cannot be read", extra={"why": str(error)})
            event = self._all_held(event)
        self._board.post(event)

    def _judged(self, event: Event) -> Event:
        if isinstance(event, Report):
            return replace(event, servers=tuple(self._declared(s) for s in event.servers))
        if isinstance(event, Observation) and event.offers is not None:
            return replace(event, held=self._held(event.id, event.offers))
        return event

    def _declared(self, server: Server) -> Server:
        if server.offers is not None:
            server = replace(server, held=self._held(server.id, server.offers))
        if not self._rules.judges_launch(server.id.source):
            return server
        problem = self._launch_problem(server)
        if problem is None:
            return server
        held = _keys(server.offers) if server.offers is not None else server.held
        return replace(server, problem=server.problem or problem, held=held)

    def _launch_problem(self, server: Server) -> Problem | None:
        """Why a server may not be started as it is declared; the first time it may."""
        mark = launch_mark(server)
        if self._rules.lock is not None:
            locked = self._rules.lock.get(str(server.id))
            return None if locked and locked.launch == mark else _not_locked(server.id, locked)
        pinned = self._need().get(str(server.id))
        if pinned is None or not pinned.launch:
            if not self._rules.trusts_first:
                return _unknown_launch(server.id)
            self._need().approve_launch(str(server.id), mark)
        elif mark not in (pinned.launch, self._need().reread_launch(str(server.id))):
            return _changed_launch(server.id)
        return None

    def _held(self, id_: ServerId, offers: Offers) -> frozenset[str]:
        if not self._rules.judges(id_.source):
            return frozenset()
        offered = {offer.key: self._hash(offer.raw) for offer in offers.tools}
        if self._rules.lock is not None:
            locked = self._rules.lock.get(str(id_))
            return judge(offered, locked.tools if locked else {}, "hold")
        store = self._need()
        pinned = store.get(str(id_))
        if pinned is None or not pinned.tools:
            if not self._rules.trusts_first:
                return frozenset(offered)
            # Trust on first use: what it offers now is the baseline.
            if offered:
                store.approve_tools(str(id_), {o.key: o for o in offers.tools})
            return frozenset()
        held = judge(offered, pinned.tools, self._rules.new)
        fresh = {o.key: o for o in offers.tools if o.key not in pinned.tools and o.key not in held}
        if fresh:
            # From here on a change of these waits as well.
            store.note_new(str(id_), fresh)
        return held

    def _need(self) -> PinStore:
        if self._store is None:
            raise StoreError(
                "what was approved cannot be read, so nothing can be compared",
                "see: toolyard doctor",
            )
        return self._store

    def _hash(self, raw: bytes) -> str:
        mark = self._hashes.get(raw)
        if mark is None:
            if len(self._hashes) >= _HASHES:
                self._hashes.clear()
            mark = self._hashes[raw] = tool_hash(raw)
        return mark

    def _all_held(self, event: Event) -> Event:
        if isinstance(event, Report):
            return replace(event, servers=tuple(self._wholly_held(s) for s in event.servers))
        if isinstance(event, Observation) and event.offers is not None:
            if self._rules.judges(event.id.source):
                return replace(event, held=_keys(event.offers))
        return event

    def _wholly_held(self, server: Server) -> Server:
        if server.offers is None or not self._rules.judges(server.id.source):
            return server
        return replace(server, held=_keys(server.offers))

    def approve(self, entry: Entry, tools: frozenset[str] = frozenset()) -> frozenset[str]:
        """Approve what a server offers and how it is started: all, or some tools; return which.

        Raises:
            ConfigError: The lock file decides alone.
            StoreError: It cannot be written down.
        """
        if self._rules.lock is not None:
            hint = "write the lock file anew, or start the hub without --frozen"
            raise ConfigError("the hub is frozen: its lock file says what is approved", hint)
        id_ = entry.server.id
        chosen = {o.key: o for o in entry.offers.tools if not tools or o.key in tools}
        store = self._need()
        if tools:
            store.approve_tools(str(id_), chosen)
        else:
            pinned = store.get(str(id_))
            gone = (pinned.tools.keys() if pinned else set()) - chosen.keys()
            store.approve_tools(str(id_), chosen, gone=gone)
            store.approve_launch(str(id_), launch_mark(entry.server))
        self._board.post(Judgement(id_, entry.held - chosen.keys(), not tools))
        return entry.held & chosen.keys()

    def approve_definition(self, definition: Definition) -> None:
        """The user wrote this definition through us, and so approves how it is started.

        Raises:
            StoreError: It cannot be written down.
        """
        if self._store is not None:
            self._store.approve_launch(f"{definition.name}@{CATALOG}", definition.launch)

    def definitions(self, id_: ServerId) -> dict[str, bytes]:
        """The definitions of a server's tools that somebody looked at, or were there first.

        Raises:
            StoreError: They cannot be read.
        """
        return self._need().definitions(str(id_))

    def fresh(self, id_: ServerId) -> frozenset[str]:
        """The tools that came later, are listed, and nobody has looked at yet."""
        pinned = self._store.get(str(id_)) if self._store is not None else None
        return frozenset(pinned.fresh) if pinned is not None else frozenset()

    def mark(self, entry: Entry) -> str:
        """What stands for all that an approval of a server would approve now."""
        tools = {offer.key: self._hash(offer.raw) for offer in entry.offers.tools}
        return offers_hash({**tools, "\0launch": launch_mark(entry.server)})

    def locked(self, entry: Entry, package: str = "") -> Locked | None:
        """What a lock file says of a server as it is; None if it is none of its matters."""
        if not self._rules.judges(entry.server.id.source):
            return None
        tools = {offer.key: self._hash(offer.raw) for offer in entry.offers.tools}
        release = entry.peer.release if entry.peer is not None else ""
        return Locked(launch_mark(entry.server), tools, package, release)


def launch_mark(server: Server) -> str:
    """What stands for how a server is started."""
    return server.launch or launch_hash(server.endpoint)


def _keys(offers: Offers) -> frozenset[str]:
    return frozenset(offer.key for offer in offers.tools)


def _changed_launch(id_: ServerId) -> Problem:
    return Problem(
        LAUNCH_HELD,
        f"the way {id_.name!r} is started was changed outside of toolyard",
        f"look at it with: toolyard changes {id_.name}; then: toolyard approve {id_.name}",
        subject=str(id_),
    )


def _unknown_launch(id_: ServerId) -> Problem:
    return Problem(
        LAUNCH_HELD,
        f"nothing tells any more how {id_.name!r} was started when it was approved",
        f"look at it with: toolyard changes {id_.name}; then: toolyard approve {id_.name}",
        subject=str(id_),
    )


def _not_locked(id_: ServerId, locked: Locked | None) -> Problem:
    what = "is started in another way than the lock file has it"
    return Problem(
        LOCK_DIFFERS,
        f"{id_.name!r} {what if locked else 'is not in the lock file'}, and the hub is frozen",
        "see: toolyard lock --check",
        subject=str(id_),
    )
