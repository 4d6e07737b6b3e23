"""Keeps one keeper for every server of the picture, and lends out their links."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from toolyard.board import Board
from toolyard.core.lookup import not_in_use
from toolyard.core.model import NO_OFFERS, Entry, ServerId, Snapshot
from toolyard.links.budget import RunningBudget
from toolyard.links.keeper import Keeper, Notice, Open, Ready
from toolyard.links.link import Link
from toolyard.links.patience import Patience

STARTS_AT_ONCE = 8
"""Twenty servers that start together would starve each other; eight do not."""


def _ignore(*_: object) -> None:
    return None


@dataclass(slots=True)
class _Member:
    keeper: Keeper
    task: asyncio.Task[None]


class LinkPool:
    """Follows the picture: a keeper per usable server, ended when it leaves or changes."""

    def __init__(
        self,
        board: Board,
        open_link: Open,
        patience: Patience,
        *,
        budget: RunningBudget | None = None,
    ) -> None:
        self._board = board
        self.on_ready: Ready = _ignore
        self.on_notice: Notice = _ignore
        self.budget = budget or RunningBudget()
        self.budget.count(lambda: [member.keeper for member in self._members.values()])
        self._open = open_link
        self._patience = patience
        self.starts = asyncio.Semaphore(STARTS_AT_ONCE)
        self._members: dict[ServerId, _Member] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._waiting: list[Keeper] | None = None

    def report_to(self, on_ready: Ready, on_notice: Notice) -> None:
        """Have somebody hear of links that open, and of what servers say on their own."""
        self.on_ready, self.on_notice = on_ready, on_notice

    def hold_back(self) -> None:
        """Start nothing on our own until somebody is let in; a call still starts its server."""
        self._waiting = []

    def let_in(self) -> None:
        """The doors are open: find out what servers offer, after the first client's answer."""
        waiting, self._waiting = self._waiting or [], None
        for keeper in waiting:
            asyncio.get_running_loop().call_later(self._patience.let_in, keeper.want)

    async def run(self) -> None:
        """Follow the picture until cancelled, then end every link."""
        revision = -1
        try:
            while True:
                snapshot = await self._board.wait_after(revision)
                revision = snapshot.revision
                self._follow(snapshot)
        finally:
            for member in self._members.values():
                member.task.cancel()
            tasks = [member.task for member in self._members.values()] + list(self._ending)
            self._members.clear()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _follow(self, snapshot: Snapshot) -> None:
        usable = {id_: entry for id_, entry in snapshot.entries.items() if _is_usable(entry)}
        for id_, member in list(self._members.items()):
            entry = usable.get(id_)
            if entry is None or not entry.server.runs_like(member.keeper.server):
                self._end(self._members.pop(id_))
        for id_, entry in usable.items():
            if id_ in self._members:
                self._members[id_].keeper.server = entry.server
            else:
                self._begin(entry)

    def _begin(self, entry: Entry) -> None:
        keeper = Keeper(
            entry.server,
            self._open,
            self._board.post,
            self.starts,
            self._patience,
            self,
            entry.offers,
        )
        if entry.offers == NO_OFFERS or entry.server.steady:
            # Nobody knows yet what it offers: finding out is the first need.
            if self._waiting is None:
                keeper.want()
            else:
                self._waiting.append(keeper)
        task = asyncio.get_running_loop().create_task(
            keeper.run(), name=f"keeper {entry.server.id}"
        )
        self._members[entry.server.id] = _Member(keeper, task)

    def _end(self, member: _Member) -> None:
        member.task.cancel()
        self._ending.add(member.task)
        member.task.add_done_callback(self._ending.discard)

    async def admit(self, keeper: Keeper) -> None:
        """Make room for one more process, as the budget says.

        Raises:
            StartError: The budget is used up, and nobody can be sent to rest.
        """
        await self.budget.admit(keeper)

    def ready(self, id_: ServerId) -> Link | None:
        """The open link to a server, if there is one: the way of nearly every call."""
        member = self._members.get(id_)
        link = member.keeper.link if member is not None else None
        return None if link is None or link.closed.done() else link

    async def lease(self, id_: ServerId) -> Link:
        """The link to a server, opened first if need be.

        Raises:
            UnknownNameError: It is not in use.
            StartError, LinkError: It cannot be opened.
        """
        return await self.keeper(id_).lease(self._patience.open)

    def keeper(self, id_: ServerId) -> Keeper:
        """The keeper of a server.

        Raises:
            UnknownNameError: The server is not in use.
        """
        member = self._members.get(id_)
        if member is None:
            raise not_in_use(id_.name, self._board.snapshot.entries.get(id_))
        return member.keeper

    @property
    def keepers(self) -> dict[ServerId, Keeper]:
        """Every keeper, by server."""
        return {id_: member.keeper for id_, member in self._members.items()}

    def replaced(self, id_: ServerId, why: str, since: float) -> None:
        """The server is another since that moment of the loop's clock, or gone."""
        member = self._members.get(id_)
        if member is not None:
            member.keeper.replaced(why, since)

    def catch_up(self) -> None:
        """Follow the picture now: what was just reported can be leased."""
        self._follow(self._board.snapshot)

    def refresh(self, ids: Iterable[ServerId] | None = None) -> None:
        """Ask servers again for what they offer; all of them if none is named."""
        for id_ in self._members if ids is None else ids:
            if id_ in self._members:
                self._members[id_].keeper.refresh()


def _is_usable(entry: Entry) -> bool:
    return entry.server.enabled and entry.server.problem is None
