"""Replicas for tests of executors."""

from __future__ import annotations

from toolyard.core.replicas import Replica


def replica(hub: str, id_: str, *live: str) -> Replica:
    """A replica of a hub that takes these for living, itself included."""

    async def live_replicas() -> frozenset[str]:
        return frozenset({id_, *live})

    return Replica(hub, id_, live_replicas)


def alone(hub: str) -> Replica:
    """The only replica of a hub."""
    return replica(hub, hub)
