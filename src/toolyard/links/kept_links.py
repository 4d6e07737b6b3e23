"""The keepers of all links: of the servers of the picture, and of those that run for members."""

from __future__ import annotations

from collections.abc import Callable

from toolyard.core.model import Server, ServerId
from toolyard.links.instances import Instances
from toolyard.links.keeper import Keeper
from toolyard.links.pool import LinkPool


class KeptLinks:
    """Finds keepers by whose credentials they use; see `LinkKeepers`."""

    def __init__(self, pool: Callable[[], LinkPool], instances: Callable[[], Instances]) -> None:
        """Look where the pool and the instances are, once they are."""
        self._pool = pool
        self._instances = instances

    def find(self, server: ServerId, member: str) -> list[Keeper]:
        """The keepers of a server that use the credentials of a member; empty for the owner's."""
        keepers = [one.keeper for one in self._instances().of_member(server, member)]
        shared = None if member else self._pool().keepers.get(server)
        return [shared, *keepers] if shared is not None else keepers

    def look(self, server: Server, member: str) -> None:
        """Find out with a member's credentials what a server offers, if nobody knows that yet."""
        self._instances().look(server, member)
