"""Remembers which server had which address first, so that none changes hands over a restart."""

from __future__ import annotations

import logging
from typing import Final, Protocol

from toolyard.core.errors import StoreError
from toolyard.core.owners import NO_OWNERS, Owners
from toolyard.records.database import Database
from toolyard.records.follow import ChangeSignal
from toolyard.records.places import RecordPlaces

log = logging.getLogger(__name__)

MIGRATION: Final = """
CREATE TABLE addresses (
    number INTEGER PRIMARY KEY, address TEXT NOT NULL UNIQUE, server TEXT NOT NULL
)
"""


class AddressStore(Protocol):
    """Claims, in the order in which they were made."""

    kept: Owners
    """The owners as they are written down."""
    changes: ChangeSignal
    """Told when another hub may have claimed something."""

    def is_news(self, owners: Owners) -> bool:
        """Say whether owners are others than those that were to be kept last."""
        ...

    def keep(self, owners: Owners) -> None:
        """Write down what changed; without that, a newcomer may have it after the next start."""
        ...

    def merged(self, owners: Owners) -> Owners:
        """Return owners by what all hubs wrote down; the very same if that says nothing else."""
        ...


class SqliteAddresses:
    """Claims as rows of the hub's database; see `AddressStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.kept = self._tried = _read(database)
        self.changes = ChangeSignal()

    def is_news(self, owners: Owners) -> bool:
        """Say whether owners are others than those that were to be kept last."""
        return owners is not self._tried

    def keep(self, owners: Owners) -> None:
        """Write down what changed; without that, a newcomer may have it after the next start."""
        self._tried = owners
        before, now = self.kept.claims, owners.claims
        gone = [(address,) for address in before if address not in now]
        fresh = [(a, server) for a, server in now.items() if before.get(a) != server]
        try:
            with self._database.change() as connection:
                connection.executemany("DELETE FROM addresses WHERE address = ?", gone)
                sql = "INSERT OR REPLACE INTO addresses (address, server) VALUES (?, ?)"
                connection.executemany(sql, fresh)
        except StoreError as error:
            log.warning("addresses are not remembered", extra={"why": str(error)})
            return
        self.kept = owners

    def merged(self, owners: Owners) -> Owners:
        """Return the same: nobody else writes."""
        return owners


def open_addresses(places: RecordPlaces, database: Database | None) -> AddressStore | None:
    """Open the claims of this hub, or of all that share a database; None if nothing can tell."""
    if places.shared is not None:
        from toolyard.records.postgres.addresses import SharedAddresses

        return SharedAddresses(places.shared)
    return SqliteAddresses(database) if database is not None else None


def _read(database: Database) -> Owners:
    try:
        rows = database.read("SELECT address, server FROM addresses ORDER BY number")
    except StoreError:  # an older one, which can only be read
        return NO_OWNERS
    return Owners(dict(rows))
