"""The memory that servers take of other machines: read now and then, never while a call waits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final

from toolyard.links.keeper import Keeper
from toolyard.links.sites import Sites, is_here

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 5.0
"""How soon a server that was started elsewhere is weighed."""
AGAIN_SECONDS: Final = 15.0
"""How often a place is asked while servers run there."""
ANSWER_SECONDS: Final = 10.0


class Weights:
    """The memory that each server elsewhere holds, as its place last said."""

    def __init__(self, sites: Sites) -> None:
        self._sites = sites
        self._seen: dict[str, dict[str, int]] = {}
        """By the executor's name, then by where the server is."""
        self._asked: dict[str, tuple[float, frozenset[str]]] = {}
        """When each place was asked, and what ran there then."""

    def of(self, keeper: Keeper) -> int | None:
        """Bytes a server elsewhere holds; None if its place does not say."""
        if keeper.link is None:
            return None
        return self._seen.get(keeper.server.placement.executor, {}).get(keeper.link.where)

    async def run(self, keepers: Callable[[], Iterable[Keeper]]) -> None:
        """Look until cancelled; a place where nothing runs is not asked."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await self.look(keepers())

    async def look(self, keepers: Iterable[Keeper]) -> None:
        """Ask the places that have run something new since, or were not asked for a while."""
        running = _there(keepers)
        now = asyncio.get_running_loop().time()
        for gone in self._asked.keys() - running.keys():
            del self._asked[gone]
            self._seen.pop(gone, None)
        async with asyncio.TaskGroup() as tasks:
            for name, places in running.items():
                asked_at, then = self._asked.get(name, (0.0, frozenset[str]()))
                if not places <= then or now - asked_at >= AGAIN_SECONDS:
                    self._asked[name] = now, places
                    tasks.create_task(self._ask(name))

    async def _ask(self, name: str) -> None:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                self._seen[name] = await self._sites.memory(name)
        except Exception as error:  # whatever a place says, the hub goes on
            self._seen.pop(name, None)
            log.info("memory is unknown", extra={"executor": name, "why": str(error)})


def _there(keepers: Iterable[Keeper]) -> dict[str, frozenset[str]]:
    """The places of servers that run elsewhere, by the executor's name."""
    places: dict[str, frozenset[str]] = {}
    for keeper in keepers:
        name, link = keeper.server.placement.executor, keeper.link
        if link is not None and link.where and not is_here(name):
            places[name] = places.get(name, frozenset()) | {link.where}
    return places
