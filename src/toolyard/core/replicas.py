"""One hub among those that share a yard: its name, and which of the others live."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

LiveReplicas = Callable[[], Awaitable[frozenset[str] | None]]
"""Gives the ids of all replicas of a yard that live, the asking one included.

None if that is not known now: then only what is surely its own may be swept. Without the asking
one, its name may be that of another hub that lives, and nothing may be swept.
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
        if live is None:
            return frozenset({self.id})
        return (frozenset(ids) - live) | {self.id} if self.id in live else frozenset()


@dataclass(frozen=True, slots=True)
class LiveReplica:
    """A replica that lives, as it describes itself."""

    id: str
    address: str
    """Host and port of its door for other replicas; empty if it has none."""
    version: str
    schema: int
    """The number of migrations that it knows."""
    is_draining: bool = False
    """True if it is about to stop, and takes nothing new."""


class KnownReplicas:
    """The replicas that live, as a hub has last heard; a hub without a fleet knows itself."""

    def __init__(self, own: LiveReplica) -> None:
        self.own = own.id
        """The id of the hub that knows them."""
        self.by_id: Mapping[str, LiveReplica] = {own.id: own}
        self._waiting: dict[str, set[Callable[[], None]]] = {}
        """Those who are told once a replica is gone, by its id."""
        self.runners: Mapping[str, str] = {}
        """The replica that runs the process of each shared server, by `name@source`."""

    def hear(self, live: Mapping[str, LiveReplica]) -> bool:
        """Take in which replicas live, and tell those who wait; True if one is gone."""
        gone, self.by_id = self.by_id.keys() - live.keys(), live
        for id_ in self._waiting.keys() - live.keys():
            for tell in tuple(self._waiting.pop(id_)):
                tell()
        return bool(gone)

    def when_gone(self, id_: str, tell: Callable[[], None]) -> Callable[[], None]:
        """Have it told once that a replica is gone; gives what takes that back."""
        waiting = self._waiting.setdefault(id_, set())
        waiting.add(tell)

        def forget() -> None:
            waiting.discard(tell)
            if not waiting and self._waiting.get(id_) is waiting:
                del self._waiting[id_]

        return forget
