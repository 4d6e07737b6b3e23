"""Looks things up on the picture by the names that people use."""

from __future__ import annotations

from toolyard.core.errors import UnknownNameError
from toolyard.core.model import Entry, Snapshot
from toolyard.core.names import closest, quoted


def find_entry(snapshot: Snapshot, alias: str) -> Entry:
    """Return a server of the picture, by its alias or its full name.

    Raises:
        UnknownNameError: There is no such server.
    """
    for entry in snapshot.entries.values():
        if alias in (entry.alias, str(entry.server.id)):
            return entry
    known = [entry.alias for entry in snapshot.entries.values()]
    near = ", ".join(closest(alias, known) or known[:20]) or "none yet"
    raise UnknownNameError(f"unknown server {quoted(alias)}", f"there are: {near}")
