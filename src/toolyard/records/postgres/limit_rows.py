"""The rows of limits that replicas share: the part of each figure that a replica may use.

The parts of all replicas together are never more than the figure. Whoever gives up some of its own
writes that first; whoever takes some takes it from what nobody has, one replica at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from toolyard.records.postgres.connections import Connection

MOST_READ: Final = 10_000
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtext(current_schema() || ' limits'))"
_WRITE: Final = """
INSERT INTO limit_shares (gauge, replica, share, used, wanted, until)
VALUES (%s, %s, %s, %s, %s, clock_timestamp() + make_interval(secs => %s))
ON CONFLICT (gauge, replica) DO UPDATE
SET share = excluded.share, used = excluded.used, wanted = excluded.wanted, until = excluded.until
"""
_READ: Final = """
SELECT gauge, replica, share, used, wanted FROM limit_shares
WHERE replica <> %s AND until > clock_timestamp() AND (wanted > 0 OR gauge = ANY(%s))
LIMIT %s
"""


@dataclass(frozen=True, slots=True)
class ShareRow:
    """The part of a figure that a replica has, what it uses of it, and what it lacks."""

    gauge: str
    replica: str
    share: int
    used: int
    wanted: int


@dataclass(frozen=True, slots=True)
class OwnShare:
    """A part of the replica that tells the others, before it takes more."""

    gauge: str
    most: int
    """The whole figure."""
    share: int
    used: int
    wanted: int
    seconds: float
    """The time for which its use counts, also when the replica is gone."""


def exchange_shares(
    connection: Connection,
    replica: str,
    own: Sequence[OwnShare],
    live: Collection[str],
    fair: Mapping[str, Mapping[str, int]],
) -> tuple[dict[str, int], list[ShareRow]]:
    """Write the parts of a replica and take what it lacks; return its parts, and those of others.

    Args:
        live: The replicas that live.
        fair: By gauge, the part that each replica has that has written none.
    """
    if own:
        connection.execute(_LOCK)
    names = [share.gauge for share in own]
    rows = connection.execute(_READ, (replica, names, MOST_READ)).fetchall()
    others = [ShareRow(*row) for row in rows]
    parts = {share.gauge: _part(share, others, replica, live, fair[share.gauge]) for share in own}
    written = [
        (share.gauge, replica, parts[share.gauge], share.used, share.wanted, share.seconds)
        for share in own
    ]
    if written:
        with connection.cursor() as cursor:
            cursor.executemany(_WRITE, written)
    return parts, others


def _part(
    own: OwnShare,
    rows: Sequence[ShareRow],
    replica: str,
    live: Collection[str],
    fair: Mapping[str, int],
) -> int:
    """The part of a replica, with what nobody has if it lacks some, shared with who does too."""
    others = [row for row in rows if row.gauge == own.gauge]
    told = {replica, *(row.replica for row in others)}
    # Of a replica that is gone, only what it has used counts on.
    held = sum(row.share if row.replica in live else row.used for row in others)
    held += sum(part for name, part in fair.items() if name not in told)
    free = own.most - held - own.share
    if free < 0:  # one more replica has come
        return max(own.used, own.share + free)
    if not own.wanted:
        return own.share
    lacking = 1 + sum(row.wanted > 0 and row.replica in live for row in others)
    return own.share - (-free // lacking)
