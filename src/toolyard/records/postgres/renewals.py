"""Turns to renew a login: one hub of those that share a database at a time."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from toolyard.core.errors import StoreError
from toolyard.records.postgres.order import safe_name
from toolyard.records.postgres.shared import SharedDatabase

TURN_SECONDS: Final = 30.0
"""A turn ends by itself after that, by the clock of the database: its hub is gone."""
TRY_SECONDS: Final = 0.2

_TAKE: Final = """
INSERT INTO renewals (url, holder, renewing_until)
VALUES (%(url)s, %(holder)s, now() + make_interval(secs => %(seconds)s))
ON CONFLICT (url) DO UPDATE
SET holder = excluded.holder, renewing_until = excluded.renewing_until
WHERE renewals.renewing_until < now()
RETURNING holder
"""
_LEAVE: Final = "DELETE FROM renewals WHERE url = %s AND holder = %s"


@contextmanager
def hold_renewal(
    database: SharedDatabase, url: str, seconds: float = TURN_SECONDS
) -> Iterator[None]:
    """Be the only hub that renews a login, and know it as it is. It blocks.

    Raises:
        StoreError: The database is away, or another hub did not let go in time.
    """
    key, holder = safe_name(url), secrets.token_hex(8)
    end, pause = time.monotonic() + 2 * seconds, threading.Event()
    while not _take(database, key, holder, seconds):
        if time.monotonic() > end:
            raise StoreError("another hub renews this login and does not come to an end")
        pause.wait(TRY_SECONDS)
    try:
        database.refresh()
        yield
    finally:
        with suppress(StoreError), database.transaction() as connection:
            connection.execute(_LEAVE, (key, holder))


def _take(database: SharedDatabase, key: str, holder: str, seconds: float) -> bool:
    with database.transaction() as connection:
        values = {"url": key, "holder": holder, "seconds": seconds}
        return connection.execute(_TAKE, values).fetchone() is not None
