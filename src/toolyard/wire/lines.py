"""One message per line, as stdio carries them: bounded, and split at LF only."""

from __future__ import annotations

from collections.abc import Callable


class Lines:
    """Cuts a stream of bytes into lines.

    Splits at LF alone: other line ends may stand inside a JSON string. A line
    longer than the limit is reported once and ends the stream, so that a
    server that never ends a line costs no more than the limit.
    """

    __slots__ = ("_limit", "_line", "_overflow", "_parts", "_size")

    def __init__(
        self, limit: int, line: Callable[[bytes], None], overflow: Callable[[], None]
    ) -> None:
        self._limit = limit
        self._line: Callable[[bytes], None] | None = line
        self._overflow = overflow
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> None:
        """Take bytes as they arrive, and give every line they complete."""
        start = 0
        while self._line is not None:
            end = data.find(b"\n", start)
            if end < 0:
                break
            line = data[start:end]
            start = end + 1
            if self._parts:
                self._parts.append(line)
                line = b"".join(self._parts)
                self._parts, self._size = [], 0
            if len(line) > self._limit:
                self._give_up()
            elif line and not line.isspace():
                self._line(line)
        if self._line is not None and start < len(data):
            self._keep(data[start:] if start else data)

    def close(self) -> None:
        """Give no more lines."""
        self._line = None
        self._parts = []

    def _keep(self, rest: bytes) -> None:
        self._parts.append(rest)
        self._size += len(rest)
        if self._size > self._limit:
            self._give_up()

    def _give_up(self) -> None:
        self.close()
        self._overflow()
