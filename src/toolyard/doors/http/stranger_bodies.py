"""Counts the bodies that callers without a token send: each is small, and many are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolyard.doors.http.connection import InboundConnection

STRANGER_BODIES: Final = 16 << 20
"""Bytes of the bodies of strangers that are kept at a time, of all together."""


class StrangerBodies:
    """The bodies on their way from strangers, and those that wait for their answer.

    For one more than there is room for, the connection ends whose first is the oldest.
    """

    def __init__(self, drop: Callable[[InboundConnection], None]) -> None:
        """Count; `drop` hangs up on a connection, and has it forgotten here."""
        self._drop = drop
        self._sizes: dict[InboundConnection, int] = {}
        """Bytes by connection, the oldest first."""
        self._total = 0

    def begin(self, connection: InboundConnection, size: int) -> None:
        """A stranger may send a body of this size."""
        if not size:
            return
        self._sizes[connection] = self._sizes.get(connection, 0) + size
        self._total += size
        while self._total > STRANGER_BODIES:
            self._drop(next(iter(self._sizes)))

    def end(self, connection: object, size: int) -> None:
        """A body is needed no more."""
        if size and connection in self._sizes:
            self._sizes[connection] -= size
            self._total -= size
            if not self._sizes[connection]:
                del self._sizes[connection]

    def forget(self, connection: InboundConnection) -> None:
        """A connection has ended."""
        self._total -= self._sizes.pop(connection, 0)
