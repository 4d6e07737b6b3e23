"""The rows of leases: who runs which process, decided by the clock of the database alone.

A lease holds while the heartbeat row of its holder does. To see whether that one lives, its row is
locked: a beat of the holder that is under way, and also looks at its leases, comes before or after.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from toolyard.core.leases import Lease
from toolyard.records.postgres.connections import Connection

_INSERT: Final = """
INSERT INTO leases (key, replica, start)
SELECT %(key)s, id, start FROM replicas
WHERE id = %(replica)s AND start = %(start)s AND until > clock_timestamp()
ON CONFLICT (key) DO NOTHING RETURNING epoch
"""
_FIND: Final = "SELECT replica, start, epoch FROM leases WHERE key = %s FOR UPDATE"
_IS_ALIVE: Final = """
SELECT until > clock_timestamp() FROM replicas WHERE id = %s AND start = %s FOR SHARE
"""
_TAKE_OVER: Final = """
UPDATE leases SET replica = replicas.id, start = replicas.start, epoch = DEFAULT FROM replicas
WHERE key = %(key)s AND replicas.id = %(replica)s AND replicas.start = %(start)s
    AND replicas.until > clock_timestamp() RETURNING epoch
"""
_RELEASE: Final = """
DELETE FROM leases WHERE key = %s AND replica = %s AND start = %s AND epoch = %s
"""
_ALL: Final = """
SELECT leases.key, leases.replica, leases.start, leases.epoch
FROM leases JOIN replicas ON replicas.id = leases.replica AND replicas.start = leases.start
WHERE replicas.until > clock_timestamp() AND (leases.replica = %s OR leases.key LIKE 'server:%%')
"""


def take_lease(
    connection: Connection, key: str, replica: str, start: str, *, may_take: bool
) -> Lease | None:
    """Take a lease, if nobody who lives has it; return whose it is then.

    None if it is nobody's: it may not be taken, or the replica itself has no row that holds.
    """
    values = {"key": key, "replica": replica, "start": start}
    if may_take and (row := connection.execute(_INSERT, values).fetchone()) is not None:
        return Lease(key, replica, row[0])
    row = connection.execute(_FIND, (key,)).fetchone()
    if row is None:
        return None
    holder, begun, epoch = row
    is_own = (holder, begun) == (replica, start)
    if not is_own and _is_alive(connection, holder, begun):
        return Lease(key, holder, epoch)
    if not may_take:
        return None
    row = connection.execute(_TAKE_OVER, values).fetchone()
    return Lease(key, replica, row[0]) if row is not None else None


def _is_alive(connection: Connection, replica: str, start: str) -> bool:
    row = connection.execute(_IS_ALIVE, (replica, start)).fetchone()
    return row is not None and row[0]


def release_leases(connection: Connection, start: str, leases: Collection[Lease]) -> None:
    """Give leases back; one that another has taken since stays as it is."""
    for lease in leases:
        connection.execute(_RELEASE, (lease.key, lease.holder, start, lease.epoch))


def read_leases(
    connection: Connection, replica: str, start: str
) -> tuple[frozenset[Lease], list[Lease]]:
    """Read the leases of a replica, and those of all shared servers."""
    rows = connection.execute(_ALL, (replica,)).fetchall()
    leases = [Lease(key, holder, epoch) for key, holder, _, epoch in rows]
    own = (replica, start)
    mine = (lease for lease, row in zip(leases, rows, strict=True) if row[1:3] == own)
    return frozenset(mine), leases
