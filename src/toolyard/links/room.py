"""Room for running servers: how many there may be at each place, and how much they may take."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from toolyard.core.errors import StartError
from toolyard.core.model import Command
from toolyard.links.keeper import Keeper

EVICT_SECONDS: Final = 10.0
STARTING_SECONDS: Final = 10.0
"""How long to wait for others that only start or end: they may be idle in a moment."""
LOOK_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class Budget:
    """How much the servers that we started may take together; 0 means as much as they like."""

    running: int = 0
    """At each executor."""
    memory: int = 0
    """Bytes, on this machine."""
    evict: bool = True
    """Send the least recently used to rest when it is used up; otherwise refuse the newcomer."""


class Room:
    """Makes room for one more process: the idle leave first, calls under way are never touched."""

    def __init__(self, budget: Budget, memory: Callable[[list[int]], int]) -> None:
        self._budget = budget
        self._memory = memory
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
            if self._budget.evict and not idle and starting:
                if asyncio.get_running_loop().time() < end:
                    await asyncio.sleep(LOOK_SECONDS)
                    continue
            oldest = (
                min(idle, key=lambda other: other.used_at) if self._budget.evict and idle else None
            )
            why = f"rested to make room for {keeper.server.id.name!r}: {reason}"
            if oldest is None or not await self._sent_to_rest(oldest, why):
                hint = "stop a server you do not need, or raise the budget"
                raise StartError(f"cannot start {keeper.server.id.name!r}: {reason}", hint)

    def _lack(self, keeper: Keeper) -> str:
        """Why there is no room for one more; empty if there is."""
        budget = self._budget
        if not isinstance(keeper.server.endpoint, Command) or not (budget.running or budget.memory):
            return ""
        running = self._beside(keeper)
        if budget.running and len(running) >= budget.running:
            where = keeper.server.placement.executor
            at = f" on {where}" if where else ""
            return f"{len(running)} servers run{at}, and {budget.running} may"
        if budget.memory and running:
            used = self._memory([other.link.pid for other in running if other.link is not None])
            if used >= budget.memory:
                return f"servers use {used >> 20} MB of the {budget.memory >> 20} they may"
        return ""

    def _beside(self, keeper: Keeper) -> list[Keeper]:
        """The processes that run where this one is to run."""
        place = keeper.server.placement.executor
        keepers = (other for side in self._sides for other in side() if other.is_running)
        return [
            other
            for other in keepers
            if isinstance(other.server.endpoint, Command)
            and other.server.placement.executor == place
        ]

    async def _sent_to_rest(self, keeper: Keeper, why: str) -> bool:
        keeper.rest(why)
        try:
            async with asyncio.timeout(EVICT_SECONDS):
                await keeper.wait_ended()
        except TimeoutError:
            return False
        return True
