"""Bytes that arrive in pieces, and are wanted whole."""

from __future__ import annotations

from typing import Final

CRUMB: Final = 4096
"""Pieces below this size are gathered; larger ones stay as they are, and are copied once."""


class Pieces:
    """Pieces in their order; a body in crumbs takes no object for each of them."""

    __slots__ = ("_parts", "size")

    def __init__(self) -> None:
        self._parts: list[bytes | bytearray] = []
        self.size = 0

    def add(self, piece: bytes) -> None:
        """Put one at the end."""
        parts = self._parts
        self.size += len(piece)
        if not parts or len(piece) >= CRUMB:
            parts.append(piece)
        elif isinstance(last := parts[-1], bytearray):
            last += piece
        else:
            parts.append(bytearray(piece))

    def take(self) -> bytes:
        """All of them as one, and begin anew."""
        parts, self._parts, self.size = self._parts, [], 0
        if len(parts) == 1 and isinstance(parts[0], bytes):
            return parts[0]
        return b"".join(parts)
