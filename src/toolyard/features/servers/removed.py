"""Servers that were removed, kept in memory so that they can be put back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from toolyard.core.errors import UnknownNameError

MOST: Final = 20


@dataclass(frozen=True, slots=True)
class Removal:
    """A server that was taken out of the file, and the file's bytes before and after."""

    name: str
    before: bytes
    after: bytes


class RemovedServers:
    """The last servers that were removed since the hub started."""

    def __init__(self) -> None:
        self._removals: dict[str, Removal] = {}

    def add(self, removal: Removal) -> None:
        """Keep a removal; of too many, the oldest is forgotten."""
        self._removals.pop(removal.name, None)
        self._removals[removal.name] = removal
        while len(self._removals) > MOST:
            del self._removals[next(iter(self._removals))]

    def find(self, name: str) -> Removal:
        """Return the last removal of a server.

        Raises:
            UnknownNameError: None is kept.
        """
        removal = self._removals.get(name)
        if removal is None:
            text = f"no server '{name}' was removed since the hub started"
            raise UnknownNameError(text, "add it again with: toolyard add")
        return removal

    def forget(self, name: str) -> None:
        """Forget a removal: it was undone."""
        self._removals.pop(name, None)
