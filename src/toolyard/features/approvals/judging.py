"""Judges what servers offer against what was approved, before anybody sees it."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from toolyard.board import Board
from toolyard.core.endpoint import fingerprint
from toolyard.core.errors import NotOursError, StoreError
from toolyard.core.locks import LOCKED_KINDS, Lock, Locked
from toolyard.core.model import (
    NOTHING_HELD,
    Entry,
    Event,
    Held,
    Judgement,
    Observation,
    Part,
    Problem,
    Report,
    Server,
    ServerId,
    Snapshot,
    Status,
)
from toolyard.core.parts import LOOSE, loose_hash, part_hash, parts_of
from toolyard.core.problems import ProblemCode
from toolyard.features.approvals.approved import ServerApprovals
from toolyard.features.approvals.inspector import Inspector
from toolyard.features.approvals.launches import changed_launch, not_locked, unknown_launch
from toolyard.features.approvals.model import New, judge, offers_hash
from toolyard.features.approvals.store import ApprovalStore
from toolyard.records.state import RESTORE

log = logging.getLogger(__name__)

CATALOG: Final = "catalog"
DECLARED: Final = frozenset({"configured", CATALOG, "agents"})
"""Sources of servers that people chose. All others find servers, which are under development more
often than not; the bundled one is ours and changes with us."""
OURS: Final = "bundled"
_HASHES: Final = 20_000

Launches = Literal["catalog", "all", "off"]


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of approval: which servers are judged, and how strictly."""

    new: New = "list"
    """A tool that comes later is listed and marked as new, or waits too."""
    found: bool = False
    """Servers that were found are judged like those that people chose."""
    launches: Launches = "catalog"
    """The servers of which a changed launch waits."""
    trusts_first: bool = True
    """The first offers of a server are trusted; not where it may be that it was seen before, and
    that was lost."""
    lock: Lock | None = None
    """All that counts as approved, if there is one."""

    def judges(self, source: str) -> bool:
        """Return whether the tools of a source's servers are judged."""
        return source in DECLARED or (self.found and source != OURS)

    def judges_launch(self, source: str) -> bool:
        """Return whether a changed launch of a source's servers waits."""
        if self.launches == "catalog" and self.lock is None:
            return source == CATALOG
        return self.judges(source) and (self.launches != "off" or self.lock is not None)


class Approvals:
    """Holds back what changed since it was approved.

    A stage of the board: there is no moment in which something changed is on
    the picture and not yet held.
    """

    def __init__(self, store: ApprovalStore | None, rules: Rules = Rules()) -> None:  # noqa: B008 - frozen
        self._store = store
        self._rules = rules
        self._hashes: dict[tuple[bool, bytes], str] = {}
        self._inspector = Inspector()

    def judge(self, _snapshot: Snapshot, event: Event) -> Event:
        """Return an event with all of it marked that waits for approval."""
        if isinstance(event, Report) and event.servers:
            servers = tuple(self._declared(server) for server in event.servers)
            return replace(event, servers=servers)
        if isinstance(event, Observation):
            parts = parts_of(event.offers, event.peer)
            return replace(event, held=self._held(event.id, parts, observed=True))
        return event

    def _declared(self, server: Server) -> Server:
        """A server as it may be used; what it offered when last seen, or on file, is judged too."""
        parts = parts_of(server.offers, server.peer)
        server = replace(server, held=self._held(server.id, parts, observed=False))
        if not self._rules.judges_launch(server.id.source):
            return server
        problem = self._launch_problem(server)
        if problem is None:
            return server
        return replace(server, problem=server.problem or problem, held=Held(frozenset(parts)))

    def _launch_problem(self, server: Server) -> Problem | None:
        """Return why a server may not be started as it is declared; the first time it may."""
        mark, name = launch_mark(server), str(server.id)
        if self._rules.lock is not None:
            locked = self._rules.lock.get(name)
            return None if locked and locked.launch == mark else not_locked(server.id, locked)
        if self._store is None:
            return None
        try:
            approved = self._store.launches.get(name)
            if approved:
                is_approved = mark in (approved, self._store.launches.reread(name))
                return None if is_approved else changed_launch(server.id)
            if self._rules.trusts_first:
                self._store.launches.note_first(name, mark)
                return None
        except StoreError as error:
            log.error("a launch cannot be compared", extra={"server": name, "why": str(error)})
        return unknown_launch(server.id)

    def _held(
        self, id_: ServerId, parts: Mapping[Part, bytes], *, observed: bool, again: bool = False
    ) -> Held:
        """Return the parts of these that wait.

        Args:
            observed: The server offered them itself, just now or, if `again`, a while ago.
        """
        if not parts or not self._rules.judges(id_.source):
            return NOTHING_HELD
        if self._rules.lock is not None:
            return self._locked_out(self._rules.lock.get(str(id_)), parts)
        try:
            return self._judged(id_, parts, observed, again)
        except StoreError as error:
            # Without a memory of what was approved everything waits; better than nothing waiting.
            log.error("approvals cannot be read or written", extra={"why": str(error)})
            return Held(frozenset(parts))

    def _judged(
        self, id_: ServerId, parts: Mapping[Part, bytes], observed: bool, again: bool
    ) -> Held:
        store, server = self._need(), str(id_)
        approvals = store.get(server)
        approved = approvals.marks
        marks = self._marks(parts, approved)
        unknown = {part: raw for part, raw in parts.items() if part not in approved}
        alarming, unread = self._inspector.inspect(id_, unknown)
        if unread:
            # Nothing is noted as first seen before all of it was read: trust is given once.
            waits = judge(marks, approved, approvals.unseen, self._rules.new) | unknown.keys()
            return Held(waits, approvals.restless & parts.keys())
        if self._rules.trusts_first and approvals.has_offers:
            held = judge(marks, approved, approvals.unseen, self._rules.new)
        else:
            held = judge(marks, {**marks, **approved}, frozenset(), "list")
            if not self._rules.trusts_first:
                held |= unknown.keys()
            elif observed:
                # Trust on first use: the baseline is what it offers, not what a file says of it.
                calm = {part: raw for part, raw in unknown.items() if part not in alarming}
                store.note_first(server, calm)
        held |= alarming
        if observed:
            try:
                if not again:
                    self._note_texts(server, parts)
                self._note_new(server, parts, held, again)
            except StoreError as error:
                # What cannot be remembered could change without anybody noticing.
                log.error("what is new was not noted", extra={"why": str(error)})
                held |= unknown.keys()
        return Held(held, store.get(server).restless & parts.keys())

    def _note_texts(self, server: str, parts: Mapping[Part, bytes]) -> None:
        """Remember which texts were seen: that many were is told."""
        store = self._need()
        approved = store.get(server).parts
        for part, raw in parts.items():
            if part in approved and (mark := self._hash(part, raw)) != approved[part].last:
                store.note_text(server, part, mark, raw)

    def _note_new(
        self, server: str, parts: Mapping[Part, bytes], held: frozenset[Part], again: bool
    ) -> None:
        """Remember what is listed though nobody looked: a change of it waits as well.

        Of resources hubs may see so many that each forgets some for others: they are noted once.
        """
        store = self._need()
        approved = store.get(server).parts
        fresh = {p: raw for p, raw in parts.items() if p not in approved and p not in held}
        if again:
            fresh = {part: raw for part, raw in fresh.items() if part[0] != "resources"}
        if fresh:
            store.note_new(server, fresh, parts.keys())

    def _locked_out(self, locked: Locked | None, parts: Mapping[Part, bytes]) -> Held:
        """Return the parts of these that are not as a lock file has them."""
        if locked is None:
            return Held(frozenset(parts))
        counted = {part: raw for part, raw in parts.items() if part[0] in locked.kinds}
        marks = self._marks(counted, locked.parts)
        return Held(frozenset(p for p, mark in marks.items() if locked.parts.get(p) != mark))

    def _need(self) -> ApprovalStore:
        if self._store is None:
            raise StoreError(
                "what was approved cannot be read, so nothing can be compared",
                RESTORE,
            )
        return self._store

    def _marks(self, parts: Mapping[Part, bytes], approved: Mapping[Part, str]) -> dict[Part, str]:
        """Return the marks of parts, each in the way in which it was approved."""
        return {
            part: loose_hash(part, raw)
            if approved.get(part, "").startswith(LOOSE)
            else self._hash(part, raw)
            for part, raw in parts.items()
        }

    def _hash(self, part: Part, raw: bytes) -> str:
        key = (part[0] == "resources", raw)
        mark = self._hashes.get(key)
        if mark is None:
            if len(self._hashes) >= _HASHES:
                self._hashes.clear()
            mark = self._hashes[key] = part_hash(part, raw)
        return mark

    def approve(
        self,
        entry: Entry,
        parts: frozenset[Part] = frozenset(),
        *,
        any_text: bool = False,
        by: str = "",
    ) -> frozenset[Part]:
        """Approve what a server offers and how it is started, or some parts; return the parts.

        With `any_text`, descriptions and titles of these parts may change from now on. It blocks,
        and the picture shows it only after the next judgement.

        Raises:
            NotOursError: The lock file decides alone.
            StoreError: It cannot be written down.
        """
        self._refuse_frozen()
        name, store = str(entry.server.id), self._need()
        offered = parts_of(entry.offers, entry.peer)
        chosen = {part: raw for part, raw in offered.items() if not parts or part in parts}
        if parts:
            store.approve(name, chosen, loose=chosen if any_text else (), by=by)
        else:
            approved = store.get(name)
            gone = approved.parts.keys() - chosen.keys()
            store.approve(name, chosen, loose=approved.loose, gone=gone, by=by)
            store.launches.approve(name, launch_mark(entry.server), by=by)
        return frozenset(chosen)

    def judge_again(self, entry: Entry) -> Judgement:
        """Return how a server on the picture is judged by what is approved now."""
        id_, parts = entry.server.id, parts_of(entry.offers, entry.peer)
        problem = None
        if self._rules.judges_launch(id_.source):
            problem = self._launch_problem(entry.server)
        is_observed = entry.status in (Status.READY, Status.IDLE)
        held = self._held(id_, parts, observed=is_observed, again=True)
        return Judgement(id_, held if problem is None else Held(frozenset(parts)), problem)

    async def read_on(self, board: Board) -> None:
        """Judge servers again whose new parts were too much to read at once."""
        while True:
            id_ = await self._inspector.read_next()
            if entry := board.snapshot.entries.get(id_):
                board.post(self.judge_again(entry))

    async def follow(self, board: Board) -> None:
        """Judge the picture anew whenever another hub may have approved something."""
        if self._store is None:
            return
        count = 0
        while True:
            count = await self._store.changes.wait(count)
            for id_ in board.snapshot.entries:
                entry = board.snapshot.entries[id_]
                judgement = self.judge_again(entry)
                if (judgement.held, judgement.problem) != (entry.held, _launch_waits(entry)):
                    board.post(judgement)

    def adopt(
        self,
        id_: ServerId,
        parts: Mapping[Part, bytes],
        *,
        loose: Collection[Part] = (),
        launch: str = "",
        by: str = "",
    ) -> None:
        """Approve definitions that a person read elsewhere, and a launch by its fingerprint.

        Others that were approved stay so. Of what is `loose`, descriptions and titles may change.

        Raises:
            NotOursError: The lock file decides alone.
            StoreError: It cannot be written down.
        """
        self._refuse_frozen()
        store = self._need()
        store.approve(str(id_), parts, loose=loose, by=by)
        if launch:
            store.launches.approve(str(id_), launch, by=by)

    def approved_launch(self, id_: ServerId) -> str:
        """Return the fingerprint of the approved way to start a server; empty if there is none."""
        return self._store.launches.get(str(id_)) if self._store is not None else ""

    def launch_waits(self, server: Server) -> bool:
        """Return whether a server is declared to be started in another way than was approved."""
        approved = self.approved_launch(server.id)
        judged = self._rules.judges_launch(server.id.source)
        return judged and approved not in ("", launch_mark(server))

    def _refuse_frozen(self) -> None:
        if self._rules.lock is not None:
            hint = "write the lock file anew, or start the hub without --frozen"
            raise NotOursError("the hub is frozen: its lock file says what is approved", hint)

    def approve_launch(self, server: str, launch: str) -> None:
        """Approve how a server is started, given the fingerprint of it.

        Raises:
            StoreError: It cannot be written down.
        """
        if self._store is not None:
            self._store.launches.approve(server, launch)

    def definitions(self, id_: ServerId) -> dict[Part, bytes]:
        """Return the parts of a server as they were approved, or as they were first listed.

        Raises:
            StoreError: They cannot be read.
        """
        return self._need().definitions(str(id_))

    def of(self, id_: ServerId) -> ServerApprovals:
        """Return the approved parts of a server; none if they cannot be read."""
        return self._store.get(str(id_)) if self._store is not None else ServerApprovals()

    def mark(self, entry: Entry) -> str:
        """Return the mark of all that an approval of a server would approve now."""
        parts = parts_of(entry.offers, entry.peer)
        marks = {"\0".join(part): self._hash(part, raw) for part, raw in parts.items()}
        return offers_hash({**marks, "\0launch": launch_mark(entry.server)})

    def locked(self, entry: Entry, package: str = "") -> Locked | None:
        """Return a server as a lock file has it; None if it is no matter of a lock."""
        if not self._rules.judges(entry.server.id.source):
            return None
        parts = parts_of(entry.offers, entry.peer)
        parts = {part: raw for part, raw in parts.items() if part[0] in LOCKED_KINDS}
        exact = self._marks(parts, {})
        release = entry.peer.release if entry.peer is not None else ""
        return Locked(
            launch_mark(entry.server),
            self._marks(parts, self.of(entry.server.id).marks),
            package=package,
            release=release,
            also={part: (exact[part], loose_hash(part, raw)) for part, raw in parts.items()},
        )


def launch_mark(server: Server) -> str:
    """Return the mark of how a server is started."""
    return server.launch or fingerprint(server.endpoint)


def _launch_waits(entry: Entry) -> Problem | None:
    problem = entry.server.problem
    return problem if problem is not None and problem.code == ProblemCode.PIN_LAUNCH else None
