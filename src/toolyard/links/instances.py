"""Servers that run apart from those of the picture: for each session, each member, or by a policy.

An instance begins with the first call that needs it. One of a session ends with the session, after
a grace in which it may come back, or when it was not used for as long as sessions may be idle.
What the picture says of the server is not touched by what becomes of its instances.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from typing import Any, Final

from toolyard.board import Board
from toolyard.core.counting import counted
from toolyard.core.errors import LinkError, StartError, ToolyardError
from toolyard.core.lookup import not_in_use
from toolyard.core.model import (
    NO_OFFERS,
    Entry,
    Observation,
    Server,
    ServerId,
    Snapshot,
    Status,
)
from toolyard.links.keeper import Keeper, OnInstalling
from toolyard.links.link import Link
from toolyard.links.owner import EVERYBODY, Apart, Owner, member_key, set_apart
from toolyard.links.patience import Patience
from toolyard.links.pool import LinkPool
from toolyard.tasks import Tasks
from toolyard.wire.era import Era

log = logging.getLogger(__name__)

GRACE_SECONDS: Final = 10.0
"""How long a session that left may come back to its servers."""
LOOK_SECONDS: Final = 60.0

OpenFor = Callable[
    [Server, Era | None, OnInstalling, Owner, str], AbstractAsyncContextManager[Link]
]
InstanceReady = Callable[["Instance", Link], None]
InstanceNotice = Callable[["Instance", Link, str, bytes], None]


def _ignore(*_: object) -> None:
    return None


class Instance:
    """One server that runs apart: its keeper, and whom it is for."""

    __slots__ = (
        "_all",
        "apart",
        "declared",
        "keeper",
        "looks",
        "owner",
        "status",
        "task",
        "used_at",
        "waiting",
    )

    def __init__(self, all_: Instances, apart: Apart, owner: Owner, entry: Entry) -> None:
        server = entry.server
        self._all = all_
        self.apart = apart
        self.owner = owner
        self.declared = server
        """The picture's server when this began; it ends when that is to run otherwise."""
        self.status = Status.KNOWN
        self.waiting = 0
        """How many calls wait for it to be ready."""
        self.used_at = 0.0
        """When it was last asked for while it was not ready, by the loop's clock."""
        self.task: asyncio.Task[Any] | None = None
        self.looks = apart.per_member and entry.offers == NO_OFFERS
        """Whether it tells what the server offers: nobody knows that yet."""
        placement = server.placement
        if not placement.executor:
            placement = replace(placement, executor=apart.place)
        own = replace(
            server, endpoint=apart.endpoint, placement=placement, spare=False, steady=False
        )
        self.keeper = Keeper(
            own,
            self._open,
            self._observe,
            all_.pool.starts,
            all_.patience_for(apart),
            self,
            hint=entry.peer.era if entry.peer is not None else None,
            apart=True,
            looks=self.looks,
        )

    @property
    def is_under_way(self) -> bool:
        """True if a call waits for it, or for its answer, or another replica uses it."""
        link = self.keeper.link
        has_calls = link is not None and link.calls > 0
        return self.waiting > 0 or has_calls or bool(self.keeper.loans)

    @property
    def last_used(self) -> float:
        """The time at which a call last needed it, by the loop's clock."""
        return max(self.used_at, self.keeper.used_at)

    async def lease(self, seconds: float) -> Link:
        """Its link, opened first if need be.

        Raises:
            StartError, LinkError: It cannot be opened.
        """
        self.used_at = asyncio.get_running_loop().time()
        self.waiting += 1
        try:
            return await self.keeper.lease(seconds)
        finally:
            self.waiting -= 1

    def _open(
        self, server: Server, hint: Era | None, on_installing: OnInstalling
    ) -> AbstractAsyncContextManager[Link]:
        return self._all.open(server, hint, on_installing, self.owner, self.apart.key)

    def _observe(self, observation: Observation) -> None:
        self.status = observation.status
        if self.looks and observation.offers is not None:
            self._all.tell_offers(observation)
        self._all.observed(self)

    # What its keeper tells.

    def on_ready(self, server: Server, link: Link) -> None:
        """Its link was opened."""
        self._all.on_ready(self, link)

    def on_notice(self, server: Server, link: Link, method: str, params: bytes) -> None:
        """It said something that belongs to no call."""
        self._all.on_notice(self, link, method, params)

    async def admit(self, keeper: Keeper) -> None:
        """Make room for its process, as the budget says."""
        await self._all.pool.budget.admit(keeper)


class Instances:
    """Lends links to servers that run apart, and ends them when their owners are gone."""

    def __init__(
        self,
        board: Board,
        pool: LinkPool,
        open_for: OpenFor,
        patience: Patience,
        idle: float,
        limit_of: Callable[[str], int] = lambda _account: 0,
    ) -> None:
        """Run nothing yet; `limit_of` says how many an account may have, 0 for as many as any."""
        self.pool = pool
        self.open = open_for
        self.on_ready: InstanceReady = _ignore
        self.on_notice: InstanceNotice = _ignore
        self.revision = 0
        """Grows with every change, for those who follow."""
        self._board = board
        self._patience = patience
        self._idle = idle
        """Seconds an instance of a session may be unused; 0 for ever."""
        self._limit_of = limit_of
        self._owned: dict[str, dict[str, Instance]] = {}
        """By the owner's key, then by what runs."""
        self._leaving: dict[str, asyncio.TimerHandle] = {}
        self._tasks = Tasks()
        pool.budget.count(lambda: [instance.keeper for instance in self])

    def report_to(self, on_ready: InstanceReady, on_notice: InstanceNotice) -> None:
        """Have somebody hear of links that open, and of what instances say on their own."""
        self.on_ready, self.on_notice = on_ready, on_notice

    def __iter__(self) -> Iterator[Instance]:
        return iter([instance for owned in self._owned.values() for instance in owned.values()])

    def patience_for(self, apart: Apart) -> Patience:
        """The patience with its server: a session's own lives as long as sessions may."""
        return replace(self._patience, idle=self._idle) if apart.per_session else self._patience

    def ready(self, apart: Apart, key: str) -> Link | None:
        """The open link of an owner, if there is one and nobody thinks of ending it."""
        owned = self._owned.get(key if apart.is_owned else "")
        if owned is None or key in self._leaving:
            return None
        instance = owned.get(apart.key)
        link = instance.keeper.link if instance is not None else None
        return None if link is None or link.closed.done() else link

    async def lease(self, apart: Apart, owner: Owner) -> Link:
        """The link for an owner, opened first if need be.

        Raises:
            UnknownNameError: The server is not in use.
            StartError, LinkError: It cannot be opened.
        """
        self.come_back(owner.key, owner)
        instance = self.find(apart, owner.key) or self._begin(apart, owner)
        return await instance.lease(self._patience.open)

    def find(self, apart: Apart, key: str) -> Instance | None:
        """The instance of an owner, whatever it is doing."""
        return self._owned.get(key if apart.is_owned else "", {}).get(apart.key)

    def named(self, apart: str, key: str) -> Instance | None:
        """The instance that runs in this way for an owner, whatever it is doing."""
        return self._owned.get(key, {}).get(apart)

    def of(self, key: str) -> list[Instance]:
        """All that runs for one owner."""
        return list(self._owned.get(key, {}).values()) if key else []

    def of_member(self, server: ServerId, member: str) -> list[Instance]:
        """The instances of a server that run with the credentials of a member."""
        return [
            instance
            for instance in self
            if instance.apart.server == server
            and instance.apart.per_member
            and instance.owner.member == member
        ]

    def look(self, server: Server, member: str) -> None:
        """Have the instance of a member tell what a server offers, if nobody knows that yet."""
        entry = self._board.snapshot.entries.get(server.id)
        if entry is None or entry.offers != NO_OFFERS or not entry.server.enabled:
            return
        apart = set_apart(server.id, server.endpoint, "", per_session=False, per_member=True)
        account = f"member {member}" if member else ""
        owner = Owner(member_key(member), account, member=member)
        self._tasks.start(self._look(apart, owner))

    async def _look(self, apart: Apart, owner: Owner) -> None:
        try:
            await self.lease(apart, owner)
        except ToolyardError as error:
            log.info("a member's server cannot be looked at: %s", error)

    def tell_offers(self, observation: Observation) -> None:
        """Tell the board what a member's instance offers, as nobody else could."""
        self._board.post(replace(observation, status=Status.IDLE))

    def end_members(self, is_out: Callable[[str], bool]) -> None:
        """End everything that runs for members who are let in no longer."""
        for instance in self:
            if instance.owner.member and is_out(instance.owner.member):
                self._end(instance)

    def is_leaving(self, key: str) -> bool:
        """Return whether an owner left, and may still come back."""
        return key in self._leaving

    def _begin(self, apart: Apart, owner: Owner) -> Instance:
        entry = self._board.snapshot.entries.get(apart.server)
        if entry is None or not entry.server.enabled or entry.server.problem is not None:
            raise not_in_use(apart.server.name, entry)
        if entry.server.exclusive:
            text = (
                f"{apart.server.name!r} is exclusive: one process serves all, and none runs apart"
            )
            raise StartError(text, "remove 'exclusive' from its entry, or share it with everybody")
        whose = replace(owner, agent=apart.agent) if apart.is_owned else EVERYBODY
        if whose.account:
            self._make_room(whose.account, apart.server.name)
        instance = Instance(self, apart, whose, entry)
        instance.task = self._tasks.start(instance.keeper.run())
        if instance.task is None:
            raise LinkError("the hub is stopping")
        self._owned.setdefault(whose.key, {})[apart.key] = instance
        self.revision += 1
        return instance

    def _make_room(self, account: str, name: str) -> None:
        """Let an account have one more: whoever invents sessions must not take all there is."""
        mine, most = self._of_account(account), self._most_of(account)
        if len(mine) < most:
            return
        shortage = self._shortage(mine, most, name)
        if shortage is not None:
            raise shortage
        idle = [instance for instance in mine if not instance.is_under_way]
        self._end(min(idle, key=lambda instance: instance.last_used))

    def shortage(self, account: str, name: str) -> StartError | None:
        """Return the error that one more server of an account would end with, if it would."""
        return self._shortage(self._of_account(account), self._most_of(account), name)

    def _shortage(self, mine: list[Instance], most: int, name: str) -> StartError | None:
        limits = self.pool.budget.limits
        can_end = limits.evict and not all(instance.is_under_way for instance in mine)
        if len(mine) < most or can_end:
            return None
        running = counted(len(mine), "server", "run")
        text = f"cannot start {name!r}: {running} for the sessions of this token"
        is_usual = most == limits.instances
        limit = "instance_limit" if is_usual else "the limit of the admission or token"
        hint = f"end a session that you do not need, or have a keeper raise {limit}"
        return StartError(f"{text}, and {most} may", hint)

    def _of_account(self, account: str) -> list[Instance]:
        return [instance for instance in self if instance.owner.account == account]

    def _most_of(self, account: str) -> int:
        """The number of servers that may run for the sessions of an account."""
        limit = self.pool.budget.limits.instances
        return min(limit, self._limit_of(account) or limit)

    # The end.

    def end_accounts(self, is_gone: Callable[[str], bool]) -> None:
        """Some accounts are nobody's any more: what runs for them ends at once."""
        for instance in self:
            if instance.owner.account and is_gone(instance.owner.account):
                self._end(instance)

    def leave(self, key: str) -> None:
        """An owner left: what runs for it ends, unless it comes back in time."""
        if key in self._owned and key and key not in self._leaving:
            self._wait(key)
            self.revision += 1

    def _wait(self, key: str) -> None:
        loop = asyncio.get_running_loop()
        self._leaving[key] = loop.call_later(GRACE_SECONDS, self._gone, key)

    def come_back(self, key: str, owner: Owner | None = None) -> None:
        """An owner is there again, perhaps as another session, which then hears what is said."""
        timer = self._leaving.pop(key, None)
        if timer is None:
            return
        timer.cancel()
        self.revision += 1
        if owner is not None:
            for instance in self.of(key):
                instance.owner = replace(owner, agent=instance.owner.agent)
                if instance.keeper.link is not None:
                    instance.keeper.link.home = owner.home

    def _gone(self, key: str) -> None:
        del self._leaving[key]
        busy = False
        for instance in self.of(key):
            if instance.is_under_way:
                busy = True
            else:
                self._end(instance)
        if busy:
            self._wait(key)

    def _end(self, instance: Instance) -> None:
        """Forget it; its process is ended by its own task."""
        owned = self._owned.get(instance.owner.key, {})
        owned.pop(instance.apart.key, None)
        if not owned:
            self._owned.pop(instance.owner.key, None)
        if instance.task is not None:
            instance.task.cancel()
        self.revision += 1

    def observed(self, instance: Instance) -> None:
        """Something became of an instance; one that rests because nobody needs it is over."""
        self.revision += 1
        if instance.status is Status.IDLE and not instance.keeper.note and not instance.waiting:
            self._end(instance)

    async def run(self) -> None:
        """Follow the picture until cancelled, then end everything."""
        revision = -1
        try:
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(LOOK_SECONDS, self._idle or LOOK_SECONDS)):
                        snapshot = await self._board.wait_after(revision)
                        revision = snapshot.revision
                        self._follow(snapshot)
                self._sweep()
        finally:
            for timer in self._leaving.values():
                timer.cancel()
            await self._tasks.close()
            self._owned.clear()

    def _follow(self, snapshot: Snapshot) -> None:
        """End what the picture no longer has, or has otherwise."""
        for instance in self:
            entry = snapshot.entries.get(instance.apart.server)
            usable = entry is not None and entry.server.enabled and entry.server.problem is None
            if entry is None or not usable or not entry.server.runs_like(instance.declared):
                self._end(instance)

    def _sweep(self) -> None:
        """Forget what rests or fails, once nobody has asked for it for long."""
        now = asyncio.get_running_loop().time()
        for instance in self:
            is_off = instance.keeper.link is None and not instance.is_under_way
            if self._idle and is_off and now - instance.used_at > self._idle:
                self._end(instance)
