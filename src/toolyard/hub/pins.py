"""Judges what servers offer against what was approved, before anybody sees it."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final

from toolyard.board import Board
from toolyard.core.errors import StoreError
from toolyard.core.fold import LAUNCH_HELD
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
from toolyard.core.pins import New, judge, launch_hash, tool_hash
from toolyard.stores.pins import PinStore

log = logging.getLogger(__name__)

FOUND: Final = frozenset({"announced"})
"""Sources of servers that the user has under development; apps are such sources too."""


class Pins:
    """Holds back what changed since it was approved.

    It stands between those who know of servers and the board, so that there is
    no moment in which a changed tool is on the picture and not yet held.
    """

    def __init__(
        self,
        board: Board,
        store: PinStore,
        *,
        new: New = "list",
        exempt: frozenset[str] = FOUND,
        launches: frozenset[str] = frozenset({"catalog"}),
    ) -> None:
        self._board = board
        self._store = store
        self._new = new
        self._exempt = exempt
        self._launches = launches
        self._hashes: dict[bytes, str] = {}

    def post(self, event: Event) -> None:
        """Judge an event and post it."""
        try:
            if isinstance(event, Report):
                event = replace(event, servers=tuple(self._declared(s) for s in event.servers))
            elif isinstance(event, Observation) and event.offers is not None:
                event = replace(event, held=self._held(event.id, event.offers))
        except StoreError as error:
            # Without a memory of what was approved everything waits; better than nothing waiting.
            log.error("pins cannot be read", extra={"why": str(error)})
            event = _all_held(event)
        self._board.post(event)

    def _declared(self, server: Server) -> Server:
        if server.offers is not None:
            server = replace(server, held=self._held(server.id, server.offers))
        if server.id.source not in self._launches:
            return server
        mark = launch_hash(server.endpoint)
        pinned = self._store.get(str(server.id))
        if pinned is None or not pinned.launch:
            self._store.approve_launch(str(server.id), mark)
        elif pinned.launch != mark and server.problem is None:
            return replace(server, problem=_changed_launch(server.id))
        return server

    def _held(self, id_: ServerId, offers: Offers) -> frozenset[str]:
        if id_.source in self._exempt:
            return frozenset()
        offered = {offer.key: self._hash(offer.raw) for offer in offers.tools}
        pinned = self._store.get(str(id_))
        if pinned is None or not pinned.tools:
            # Trust on first use: what it offers now is the baseline.
            self._store.approve_tools(str(id_), {o.key: o for o in offers.tools})
            return frozenset()
        held = judge(offered, pinned.tools, self._new)
        fresh = {o.key: o for o in offers.tools if o.key not in pinned.tools and o.key not in held}
        if fresh:
            self._store.approve_tools(str(id_), fresh)
        return held

    def _hash(self, raw: bytes) -> str:
        mark = self._hashes.get(raw)
        if mark is None:
            mark = self._hashes[raw] = tool_hash(raw)
        return mark

    def approve(self, entry: Entry, tools: frozenset[str] = frozenset()) -> frozenset[str]:
        """Approve what a server offers and how it is started: all, or some tools; return which."""
        id_ = entry.server.id
        chosen = {o.key: o for o in entry.offers.tools if not tools or o.key in tools}
        self._store.approve_tools(str(id_), chosen)
        if not tools:
            self._store.approve_launch(str(id_), launch_hash(entry.server.endpoint))
        self._board.post(Judgement(id_, entry.held - chosen.keys(), not tools))
        return entry.held & chosen.keys()

    def definitions(self, id_: ServerId) -> dict[str, bytes]:
        """The approved definitions of a server's tools."""
        return self._store.definitions(str(id_))

    def lock_of(self, entry: Entry) -> dict[str, object]:
        """What a lock file says of a server: its launch and its tools, as hashes."""
        tools = {offer.key: self._hash(offer.raw) for offer in entry.offers.tools}
        return {"launch": launch_hash(entry.server.endpoint), "tools": dict(sorted(tools.items()))}


def _changed_launch(id_: ServerId) -> Problem:
    return Problem(
        LAUNCH_HELD,
        f"the way {id_.name!r} is started was changed outside of toolyard",
        f"look at it with: toolyard list {id_.name}; then: toolyard approve {id_.name}",
        subject=str(id_),
    )


def _all_held(event: Event) -> Event:
    if isinstance(event, Observation) and event.offers is not None:
        return replace(event, held=frozenset(offer.key for offer in event.offers.tools))
    if isinstance(event, Report):
        servers = [
            replace(s, held=frozenset(o.key for o in s.offers.tools)) if s.offers else s
            for s in event.servers
        ]
        return replace(event, servers=tuple(servers))
    return event
