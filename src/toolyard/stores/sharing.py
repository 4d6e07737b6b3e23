"""The evidence about sharing, as much of it as resolving needs."""

from __future__ import annotations

from typing import Any, Final

from toolyard.core.sharing import Asking, Tried
from toolyard.records.database import Database

_SHAREABLE: Final = {"shareable": True, "not": False}


def read_asking(database: Database) -> dict[str, Asking]:
    """Return the questions of servers, by server; raises like `read_tried`."""
    rows: list[Any] = database.read("SELECT server, launch, question, roots FROM asking")
    return {
        server: Asking(launch, question, bool(roots)) for server, launch, question, roots in rows
    }


def read_tried(database: Database) -> dict[str, Tried]:
    """Return the verdicts on servers, by server.

    Raises:
        StoreError: They cannot be read.
    """
    rows: list[Any] = database.read("SELECT server, launch, verdict FROM sharing")
    return {server: Tried(launch, _SHAREABLE.get(verdict)) for server, launch, verdict in rows}
