"""The rows of replicas that live: each renews its own, and is gone when it does not.

Only the database's clock decides. A hub that is killed, frozen or cut off is gone when its row is
too old; one that stops removes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from toolyard.core.replicas import LiveReplica
from toolyard.records.postgres.connections import Connection

LIFE_SECONDS: Final = 6
"""The time that a row is good for."""

_RENEW: Final = """
INSERT INTO replicas (id, start, address, version, schema, draining, until)
VALUES (%s, %s, %s, %s, %s, %s, clock_timestamp() + make_interval(secs => %s))
ON CONFLICT (id) DO UPDATE
SET start = excluded.start, address = excluded.address, version = excluded.version,
    schema = excluded.schema, draining = excluded.draining, until = excluded.until
WHERE replicas.start = excluded.start OR replicas.until < clock_timestamp()
"""
_LIVE: Final = """
SELECT id, address, version, schema, draining FROM replicas
WHERE until > clock_timestamp() ORDER BY id
"""
_NOW: Final = "SELECT extract(epoch FROM clock_timestamp())::float"
_REMOVE: Final = "DELETE FROM replicas WHERE id = %s AND start = %s"


@dataclass(frozen=True, slots=True)
class LiveRows:
    """The replicas that live, and whether the own name is that of another one."""

    replicas: tuple[LiveReplica, ...]
    is_taken: bool
    now: float
    """The database's time, in seconds."""


def renew_row(connection: Connection, own: LiveReplica, start: str) -> LiveRows:
    """Renew the row of a hub, and read those of all that live."""
    row = (own.id, start, own.address, own.version, own.schema, own.is_draining, LIFE_SECONDS)
    is_taken = connection.execute(_RENEW, row).rowcount == 0
    live = connection.execute(_LIVE).fetchall()
    (now,) = connection.execute(_NOW).fetchone() or (0.0,)
    return LiveRows(tuple(LiveReplica(*fields) for fields in live), is_taken, now)


def remove_row(connection: Connection, id_: str, start: str) -> None:
    """Remove the row of a hub that stops, if it has one."""
    connection.execute(_REMOVE, (id_, start))
