"""The lists of what one server offers: kept, and asked for again when they change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from toolyard.core.errors import LinkError
from toolyard.core.model import NO_OFFERS, Offers
from toolyard.links.link import Link
from toolyard.links.listing import KINDS, list_arriving

LISTS: Final = {
    "notifications/tools/list_changed": ("tools",),
    "notifications/prompts/list_changed": ("prompts",),
    "notifications/resources/list_changed": ("resources", "templates"),
}
"""The notifications that tell of a change, and the lists that each concerns."""
SETTLE_SECONDS: Final = 0.05
"""A server that changes often within a moment is asked once."""


class OfferedLists:
    """What a server offers as far as it is known, and which of its lists are missing or stale."""

    def __init__(self, offers: Offers, seconds: float) -> None:
        """Begin with the offers that are known; `seconds` are for a server to send a list."""
        self.offers = offers
        self.failures: dict[str, LinkError] = {}
        """Why lists did not arrive, by kind."""
        self._seconds = seconds
        self._stale: set[str] = set()
        self._changed = asyncio.Event()

    async def ask(self, link: Link, kinds: tuple[str, ...] = KINDS) -> None:
        """Ask the server for lists.

        Raises:
            LinkError: None of them arrived.
        """
        listed = await list_arriving(link, self._seconds, self.offers, kinds)
        for kind in kinds:
            self.failures.pop(kind, None)
        self.failures |= listed.failures
        self.offers = listed.offers

    def mark_stale(self, kinds: Iterable[str] = KINDS) -> None:
        """Have lists asked for again, now or as soon as there is a link."""
        self._stale |= set(kinds)
        self._changed.set()

    async def follow(self, link: Link, on_listed: Callable[[], None]) -> None:
        """Ask again for what is stale until cancelled, and tell of every time."""
        while True:
            await self._changed.wait()
            await asyncio.sleep(SETTLE_SECONDS)
            self._changed.clear()
            kinds = tuple(kind for kind in KINDS if kind in self._stale)
            self._stale.clear()
            try:
                await self.ask(link, kinds)
            except LinkError as error:
                self.failures |= dict.fromkeys(kinds, error)
            on_listed()

    def forget(self) -> None:
        """The server has been gone for too long: nothing of it is offered."""
        self.offers = NO_OFFERS
