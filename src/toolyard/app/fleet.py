"""Several hubs that are one: what each needs to go on with what another began."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from toolyard import __version__
from toolyard.app.replica import make_replica
from toolyard.core.model import Report
from toolyard.core.replicas import KnownReplicas, LiveReplica, Replica
from toolyard.doors.http.address import EVERYWHERE, bracketed
from toolyard.doors.http.ended import EndedHere, EndedSessions
from toolyard.doors.http.session_ids import RandomIds, SealedIds, SessionIds
from toolyard.links.sites import Sites
from toolyard.relay.peer_calls import PeerCalls
from toolyard.relay.peers import NoPeers, Peers
from toolyard.relay.session import Session
from toolyard.relay.session_notes import NotesHere, SessionNote, SessionNotes
from toolyard.settings import Settings
from toolyard.tasks import Tasks
from toolyard.wire.passes import PeerPasses
from toolyard.wire.peer_posts import PeerPosts
from toolyard.wire.seal import Seal

if TYPE_CHECKING:
    from toolyard.links.keeper import Keeper
    from toolyard.links.opening import Step
    from toolyard.links.patience import Patience
    from toolyard.records.postgres.heartbeat import Heartbeat
    from toolyard.records.postgres.leases import SharedLeases
    from toolyard.records.postgres.shared import SharedDatabase

_DAY: Final = 86400.0
HAND_OVER_SECONDS: Final = 0.1
"""The pause between two looks for a process that is still to be handed over."""


class Fleet:
    """A hub among others: without a key and a database it is on its own."""

    def __init__(
        self,
        settings: Settings,
        shared: SharedDatabase | None,
        stopping: asyncio.Event,
        *,
        is_sole: bool,
    ) -> None:
        """Give a hub its name, and a heartbeat if there is a database.

        Args:
            stopping: Set once the hub is about to stop.
            is_sole: No other hub keeps its state where this one does.
        """
        self.seal = Seal(settings.key) if settings.key else None
        self._days = settings.session_days
        self._shared = shared
        self._stopping = stopping
        self._replica = make_replica(settings, is_sole=is_sole)
        self._schema = 0
        self._tasks = Tasks()
        if shared is not None:
            from toolyard.records.postgres.schema import STEPS

            self._schema = len(STEPS)
        self._address = announced_address(settings)
        self.known = KnownReplicas(self._describe())
        self.heartbeat = self._make_heartbeat()
        self.passes = self._make_passes()
        self.posts = PeerPosts(self.known, self.passes) if self.passes is not None else None
        self.peers = self._make_peers(settings.server_message_limit)
        self.leases = self._make_leases()

    @property
    def replica(self) -> Replica:
        """The hub as those see it that share its yard, and its executors."""
        name = self._shared.yard_name if self._shared is not None else ""
        return replace(self._replica, hub=name) if name else self._replica

    def make_session_ids(self, on_ended: Callable[[bytes], None]) -> SessionIds:
        """The ids of sessions; `on_ended` hears of those that another replica has ended."""
        if self.seal is None:
            return RandomIds()
        ended = self._make_ended(on_ended)
        return SealedIds(self.seal, self._replica.id, ended, self._days, time.time)

    def make_notes(
        self,
        sessions: Callable[[], Iterable[Session]],
        renew: Callable[[Session, SessionNote], Awaitable[None]],
    ) -> SessionNotes:
        """The notes of sessions.

        Args:
            sessions: Gives those that are here.
            renew: Takes in a note that another replica has changed.
        """
        if self.heartbeat is None or self._shared is None or self.seal is None:
            return NotesHere()
        from toolyard.relay.shared_notes import SharedNotes

        def here() -> list[str]:
            return [session.principal for session in sessions() if session.replica]

        async def take_in(principal: str, note: SessionNote) -> None:
            for session in [s for s in sessions() if s.principal == principal]:
                await renew(session, note)

        def heard(principal: str, note: SessionNote) -> None:
            self._tasks.start(take_in(principal, note))

        beat = self.heartbeat
        notes = SharedNotes(self._shared, self._days * _DAY, here, heard, beat.wake, beat.hear)
        beat.add(notes)
        return notes

    async def join(self) -> None:
        """Wait until the others can know of this hub: what it holds is found only then."""
        if self.heartbeat is not None:
            await self.heartbeat.has_begun.wait()

    def make_steps(self, patience: Patience, limit: int) -> list[Step]:
        """The step to a link by which each process runs at one replica; none without others."""
        if self.leases is None or self.posts is None:
            return []
        from toolyard.links.borrowing import Borrower
        from toolyard.links.owning import OwnProcess

        borrower = Borrower(self.posts, patience, 2 * limit)
        return [OwnProcess(self.leases, borrower, self._find_successor, patience.open)]

    async def hand_over(self, keepers: Callable[[], Iterable[Keeper]]) -> None:
        """Once this hub is to stop, let others run its processes, as soon as no call needs them."""
        await self._stopping.wait()
        while self.leases is not None:
            for keeper in keepers() if self._find_successor() else ():
                if keeper.link is not None and keeper.link.lease is not None:
                    keeper.retire(f"the replica {self.known.own!r} leaves")
            await asyncio.sleep(HAND_OVER_SECONDS)

    def _find_successor(self) -> str:
        """A replica to run what this one, which leaves, starts no more; empty if it may."""
        if not self._stopping.is_set():
            return ""
        others = (replica for id_, replica in self.known.by_id.items() if id_ != self.known.own)
        return next((one.id for one in others if one.address and not one.is_draining), "")

    def wake(self) -> None:
        """Tell the others at once what has changed."""
        if self.heartbeat is not None:
            self.heartbeat.wake()

    async def sweep(self, sites: Sites, post: Callable[[Report], None]) -> None:
        """End what an earlier start left, and from then on what replicas leave that are gone."""
        await sites.sweep(post)
        while self.heartbeat is not None:
            await self.heartbeat.departed.wait()
            self.heartbeat.departed.clear()
            await sites.sweep(post)

    async def close(self) -> None:
        """Leave the fleet."""
        await self._tasks.close()
        if isinstance(self.peers, PeerCalls):
            await self.peers.close()
        if self.posts is not None:
            await self.posts.close()
        if self.heartbeat is not None:
            await self.heartbeat.leave()

    def _describe(self) -> LiveReplica:
        is_leaving = self._stopping.is_set()
        return LiveReplica(self._replica.id, self._address, __version__, self._schema, is_leaving)

    def _make_passes(self) -> PeerPasses | None:
        """The passes for other replicas; None if there is no way to them."""
        if self.seal is None or self.heartbeat is None or not self._address:
            return None
        return PeerPasses(self.seal, self._replica.id, self.heartbeat.clock)

    def _make_peers(self, limit: int) -> Peers:
        if self.posts is None or self.heartbeat is None:
            return NoPeers()
        return PeerCalls(self.posts, 2 * limit, self.heartbeat.hear)

    def _make_leases(self) -> SharedLeases | None:
        """The leases of processes; None where others cannot use what runs here."""
        if self.posts is None or self._shared is None or self.heartbeat is None:
            return None
        from toolyard.records.postgres.leases import SharedLeases

        leases = SharedLeases(self._shared, self.known, self.heartbeat.start)
        self.heartbeat.add(leases)
        return leases

    def _make_heartbeat(self) -> Heartbeat | None:
        if self._shared is None:
            return None
        from toolyard.records.postgres.heartbeat import Heartbeat

        heartbeat = Heartbeat(self._shared, self._describe, self.known)
        self._replica = replace(self._replica, live_replicas=heartbeat.live_ids)
        return heartbeat

    def _make_ended(self, on_ended: Callable[[bytes], None]) -> EndedSessions:
        if self.heartbeat is None:
            return EndedHere(time.time)
        from toolyard.doors.http.shared_ended import EndedEverywhere

        ended = EndedEverywhere(time.time, on_ended, self.heartbeat.wake)
        self.heartbeat.add(ended)
        return ended


def announced_address(settings: Settings) -> str:
    """Host and port by which other replicas reach this one; empty if they do not."""
    if not settings.peer_port or settings.peer_address:
        return settings.peer_address if settings.peer_port else ""
    host = settings.peer_host or settings.host
    if host in EVERYWHERE:
        host = own_host()
    return f"{bracketed(host)}:{settings.peer_port}"


def own_host() -> str:
    """The address that this machine's name stands for, or the name."""
    name = socket.gethostname()
    try:
        return socket.gethostbyname(name)
    except OSError:
        return name
