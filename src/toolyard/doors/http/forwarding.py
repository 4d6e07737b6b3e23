"""The headers of callers that servers are to get: named in a server's entry, and no others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from toolyard.board import Board
from toolyard.core.model import Snapshot, Url


class Forwarding:
    """Picks the headers that some server is to get; nearly always there are none."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._names: frozenset[bytes] = frozenset()
        self._revision = -1

    def pick(self, pairs: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes] | None:
        """Return the headers that some server is to get; None if there are none.

        A header that came twice is left out: two readers might take different ones.
        """
        snapshot = self._board.snapshot
        if snapshot.revision != self._revision:
            self._names, self._revision = _names_in(snapshot), snapshot.revision
        if not self._names:
            return None
        named = [(name, value) for name, value in pairs if name in self._names]
        counts = Counter(name for name, _ in named)
        return {name: value for name, value in named if counts[name] == 1} or None


def _names_in(snapshot: Snapshot) -> frozenset[bytes]:
    """The names of all such headers, in lower case."""
    endpoints = (entry.server.endpoint for entry in snapshot.entries.values())
    maps = (endpoint.forward for endpoint in endpoints if isinstance(endpoint, Url))
    return frozenset(name.lower().encode() for pairs in maps for name, _ in pairs)
