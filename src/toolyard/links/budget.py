"""The budget of running servers: how many may run at each place, and how much they may take."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from toolyard.core.counting import counted
from toolyard.core.errors import StartError
from toolyard.core.model import Command
from toolyard.core.sites import Site
from toolyard.links.keeper import Keeper
from toolyard.links.sites import is_here

EVICT_SECONDS: Final = 10.0
STARTING_SECONDS: Final = 10.0
"""How long to wait for others that only start or end: they may be idle in a moment."""
LOOK_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class RunningLimits:
    """The limits of all servers that we started together; 0 means as much as they like."""

    running: int = 0
    """At each executor that says nothing else."""
    memory: int = 0
    """Bytes, at each executor that says nothing else, of those that are known."""
    instances: int = 32
    """For the sessions of one account."""
    evict: bool = True
    """Send the least recently used to rest when it is used up; otherwise refuse the newcomer."""


class RunningBudget:
    """Makes room for one more process: the idle leave first, calls under way are never touched.

    Args:
        limits: How much may be taken where an executor says nothing else.
        memory: Returns the bytes that processes of this machine hold.
        site: Returns the executor of a name, with limits of its own or without.
        weight: Returns the bytes that a server elsewhere holds; None if nobody can tell.
    """

    def __init__(
        self,
        limits: RunningLimits = RunningLimits(),  # noqa: B008 - frozen
        *,
        memory: Callable[[list[int]], int] = lambda _pids: 0,
        site: Callable[[str], Site | None] = lambda _name: None,
        weight: Callable[[Keeper], int | None] = lambda _keeper: None,
    ) -> None:
        self.limits = limits
        self.weight = weight
        self._memory = memory
        self._site = site
        self._sides: list[Callable[[], Iterable[Keeper]]] = []

    def count(self, keepers: Callable[[], Iterable[Keeper]]) -> None:
        """Count these too, whoever they are by then."""
        self._sides.append(keepers)

    async def admit(self, keeper: Keeper) -> None:
        """Make room for one more process, as the budget says.

        Raises:
            StartError: The budget is used up, and nobody can be sent to rest.
        """
        end = asyncio.get_running_loop().time() + STARTING_SECONDS
        while reason := self._lack(keeper):
            running = self._beside(keeper)
            idle = [other for other in running if other.is_idle]
            starting = any(other.link is None for other in running)
            if self.limits.evict and not idle and starting:
                if asyncio.get_running_loop().time() < end:
                    await asyncio.sleep(LOOK_SECONDS)
                    continue
            oldest = (
                min(idle, key=lambda other: other.used_at) if self.limits.evict and idle else None
            )
            why = f"rested to make room for {keeper.server.id.name!r}: {reason}"
            if oldest is None or not await self._sent_to_rest(oldest, why):
                hint = "stop a server you do not need, or raise the budget"
                raise StartError(f"cannot start {keeper.server.id.name!r}: {reason}", hint)

    def _lack(self, keeper: Keeper) -> str:
        """The reason why there is no room for one more; empty if there is."""
        place = _place(keeper)
        count, memory = self._limits(place)
        if not isinstance(keeper.server.endpoint, Command) or not (count or memory):
            return ""
        running = self._beside(keeper)
        at = f" on {place}" if place else ""
        if count and len(running) >= count:
            return f"{counted(len(running), 'server', 'run')}{at}, and {count} may"
        if memory and running:
            used = self._used(place, running)
            if used >= memory:
                return f"servers{at} use {used >> 20} MB of the {memory >> 20} they may"
        return ""

    def _limits(self, place: str) -> tuple[int, int]:
        """The servers that may run at a place, and the bytes they may take; 0 is no limit."""
        site, usual = self._site(place) if place else None, self.limits
        count = site.running_limit if site else None
        memory = site.memory_limit if site else None
        return (
            usual.running if count is None else count,
            usual.memory if memory is None else memory << 20,
        )

    def _used(self, place: str, running: list[Keeper]) -> int:
        if place:
            return sum(self.weight(other) or 0 for other in running)
        return self._memory([other.link.pid for other in running if other.link is not None])

    def _beside(self, keeper: Keeper) -> list[Keeper]:
        """The processes that run where this one is to run."""
        place = _place(keeper)
        return [other for other in self.running() if _place(other) == place]

    def running(self) -> list[Keeper]:
        """Every process that we started."""
        return [keeper for keeper in self.keepers() if isinstance(keeper.server.endpoint, Command)]

    def keepers(self) -> list[Keeper]:
        """Every keeper whose process runs, or whose connection is open."""
        return [keeper for side in self._sides for keeper in side() if keeper.is_running]

    async def _sent_to_rest(self, keeper: Keeper, why: str) -> bool:
        keeper.rest(why)
        try:
            async with asyncio.timeout(EVICT_SECONDS):
                await keeper.wait_ended()
        except TimeoutError:
            return False
        return True


def _place(keeper: Keeper) -> str:
    """The executor at which it runs; empty for this machine."""
    name = keeper.server.placement.executor
    return "" if is_here(name) else name
