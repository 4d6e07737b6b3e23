"""The hub of this process, as others see it that share its yard."""

from __future__ import annotations

import os

from toolyard.core.replicas import Replica
from toolyard.records.holding import find_beside
from toolyard.records.identity import hub_identity, replica_identity
from toolyard.settings import Settings


def make_replica(settings: Settings, *, is_sole: bool) -> Replica:
    """Give the hub of this process its names.

    Args:
        is_sole: It holds the lock of the state directory, so no other replica of its yard lives
            but hubs for one client, which take a lock each.
    """
    hub = hub_identity(settings.state_dir)
    place = settings.runtime_dir if is_sole else settings.runtime_dir / str(os.getpid())
    # Beside the hub that is called so, nobody else may be: it would sweep what that one runs.
    id_ = (settings.replica if is_sole else "") or replica_identity(hub, place)

    async def live_replicas() -> frozenset[str] | None:
        return find_beside(settings.state_dir) | {id_} if is_sole else None

    return Replica(hub, id_, live_replicas)
