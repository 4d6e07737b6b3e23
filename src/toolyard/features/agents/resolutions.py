"""The plans of agents: one computation, whoever asks for them."""

from __future__ import annotations

from typing import Final, Protocol

from toolyard.board import Board
from toolyard.core.model import Snapshot
from toolyard.core.plans import Resolution
from toolyard.core.roster import Resolver

Reach = tuple[str, str]
"""The hub's address as an executor sees it, and the host that stands for our loopback there."""
ARRIVED: Final = ("http://toolyard", "")
"""The reach of whoever has come in: the hub can be reached from there, by whatever address."""


class HubReach(Protocol):
    """Knows how the hub is reached from executors."""

    async def prepare(self, name: str) -> None:
        """Find that out, before plans for an executor are made."""
        ...

    def reach_of(self, name: str) -> Reach:
        """Return it, as far as it is known."""
        ...


class Resolutions:
    """The plans of agents, made once per picture.

    Those that are shown to people, handed to a run and let through a door all come from here, so
    they differ only where the reach does.
    """

    def __init__(self, board: Board, executors: HubReach) -> None:
        """Resolve on the picture of a board."""
        self._board = board
        self._executors = executors
        self._of: Snapshot | None = None
        self._resolver = Resolver(board.snapshot)
        self._made: dict[tuple[str, str, Reach], Resolution] = {}

    @property
    def resolver(self) -> Resolver:
        """The picture, made ready for resolving."""
        snapshot = self._board.snapshot
        if self._of is not snapshot:
            self._of, self._resolver, self._made = snapshot, Resolver(snapshot), {}
        return self._resolver

    async def prepare(self, executor: str = "") -> None:
        """Find out how the hub is reached from an executor, so that plans for it are true.

        Raises:
            UnknownNameError: There is no such executor.
        """
        await self._executors.prepare(self.resolver.roster.executor(executor))

    def planned(self, agent: str, executor: str = "") -> Resolution:
        """Return what a run of an agent would get, as far as the hub is known to be reached.

        Raises:
            UnknownNameError: There is no such agent or executor.
        """
        where = self.resolver.roster.executor(executor)
        return self._get(agent, where, self._executors.reach_of(where))

    def given(self, agent: str, executor: str = "") -> Resolution:
        """Return what an agent gets that has come in.

        Raises:
            UnknownNameError: There is no such agent or executor.
        """
        return self._get(agent, self.resolver.roster.executor(executor), ARRIVED)

    def _get(self, agent: str, executor: str, reach: Reach) -> Resolution:
        resolver = self.resolver
        key = resolver.roster.agent(agent).id, executor, reach
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = resolver.resolve(*key)
        return made

    def imagine(self, resolver: Resolver, agent: str, executor: str) -> Resolution:
        """Return what an agent would get on another picture; it may be run in a thread."""
        return resolver.resolve(agent, executor, self._executors.reach_of(executor))
