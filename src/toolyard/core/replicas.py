"""One hub among those that share a yard: its name, and which of the others live."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

LiveReplicas = Callable[[], Awaitable[frozenset[str] | None]]
"""Gives the ids of all replicas of a yard that live, the asking one included.

None if that is not known now: then only what is surely its own may be swept.
"""


@dataclass(frozen=True, slots=True)
class Replica:
    """A running hub; all that it starts elsewhere carries both of its names."""

    hub: str
    """The lasting name of the yard, which all its replicas share."""
    id: str
    """Its own name, the same at its next start."""
    live_replicas: LiveReplicas

    async def find_gone(self, ids: Iterable[str]) -> frozenset[str]:
        """Give those of these replicas that have ended; of its own id that is the start before.

        What has no replica's name, by an empty id, is of a time when hubs had none: its hub is gone
        too. Ask after listing what they started: a replica that came meanwhile is then known.
        """
        live = await self.live_replicas()
        others = frozenset(ids) - {self.id}
        return (others - live if live is not None else frozenset()) | {self.id}
