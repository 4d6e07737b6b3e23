"""Offers of servers in a shared database, so that a new hub lists them at once."""

from __future__ import annotations

import logging
from typing import Final

from toolyard.core.errors import StoreError
from toolyard.core.model import ServerId
from toolyard.records.postgres.order import safe_name
from toolyard.records.postgres.shared import SharedDatabase

log = logging.getLogger(__name__)

LARGEST: Final = 4 << 20
"""Bytes of one server."""
MOST: Final = 2000
"""Servers whose offers a hub reads when it starts."""
_READ: Final = """
SELECT server, value FROM offers WHERE length(value) <= %s ORDER BY at DESC LIMIT %s
"""
_WRITE: Final = """
INSERT INTO offers (server, value) VALUES (%s, %s)
ON CONFLICT (server) DO UPDATE SET value = excluded.value, at = now()
WHERE offers.value IS DISTINCT FROM excluded.value
"""


class SharedOffers:
    """Offers as all hubs saw them, read once; see `OfferPlace`."""

    def __init__(self, database: SharedDatabase) -> None:
        self._database = database
        self._contents: dict[str, bytes] = {}
        try:
            with database.transaction() as connection:
                rows = connection.execute(_READ, (LARGEST, MOST)).fetchall()
        except StoreError as error:
            log.warning("nothing tells what servers offered", extra={"why": str(error)})
        else:
            self._contents = {server: bytes(value) for server, value in rows}

    def read(self, id_: ServerId) -> bytes | None:
        """Return what was written of a server."""
        return self._contents.get(safe_name(str(id_)))

    def write(self, id_: ServerId, content: bytes) -> None:
        """Write what a server offers."""
        name = safe_name(str(id_))
        if len(content) > LARGEST or self._contents.get(name) == content:
            return
        try:
            with self._database.transaction() as connection:
                connection.execute(_WRITE, (name, content))
        except StoreError as error:
            log.warning("the offers of a server are not kept", extra={"why": str(error)})
        else:
            self._contents[name] = content
