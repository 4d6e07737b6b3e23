"""One message per line, as stdio carries them: bounded, and split at LF only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

GLIMPSE: Final = 1024
"""Bytes that are kept of the beginning and of the end of a line that is too long."""
ENDLESS: Final = 16
"""Times the limit after which a line is not waited for any more."""


class Lines:
    """Cuts a stream of bytes into lines.

    Splits at LF alone: other line ends may stand inside a JSON string. A line longer than the
    limit is skipped, so it costs no more than the limit. How it began is reported at once, and if
    that does not tell enough, how it began and ended is reported at its end. One that does not
    end is reported once and ends the stream.
    """

    __slots__ = ("_endless", "_limit", "_line", "_parts", "_settled", "_size", "_skip", "_tail")

    def __init__(
        self,
        limit: int,
        line: Callable[[bytes], None],
        skip: Callable[[bytes, bytes | None], bool],
        endless: Callable[[], None],
    ) -> None:
        self._limit = limit
        self._line: Callable[[bytes], None] | None = line
        self._skip = skip
        """Told how a line began, and how it ended; true if that told enough."""
        self._endless = endless
        self._parts: list[bytes] = []
        """Pieces of a line that is not complete yet; of one that is skipped, how it began."""
        self._size = 0
        self._tail: bytes | None = None
        """How the line that is being skipped ended so far; None if none is."""
        self._settled = False
        """Whether all is known of the line that is being skipped."""

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
                if self._tail is not None:
                    self._end_skipping(line)
                    continue
                self._parts.append(line)
                line = b"".join(self._parts)
                self._parts, self._size = [], 0
            if len(line) > self._limit:
                self._skip(line[:GLIMPSE], line[-GLIMPSE:])
            elif line and not line.isspace():
                self._line(line)
        if self._line is not None and start < len(data):
            self._keep(data[start:] if start else data)

    def close(self) -> None:
        """Give no more lines."""
        self._line = None
        self._parts = []

    def _keep(self, rest: bytes) -> None:
        self._size += len(rest)
        if self._tail is not None:
            self._tail = _end_of(self._tail, rest)
        else:
            self._parts.append(rest)
            if self._size > self._limit:
                self._begin_skipping()
        if self._size > self._limit * ENDLESS:
            self.close()
            self._endless()

    def _begin_skipping(self) -> None:
        head = tail = b""
        for part in self._parts:
            head += part[: GLIMPSE - len(head)]
            tail = _end_of(tail, part)
        self._parts, self._tail = [head], tail
        self._settled = self._skip(head, None)

    def _end_skipping(self, rest: bytes) -> None:
        head, tail = self._parts[0], _end_of(self._tail or b"", rest)
        self._parts, self._size, self._tail = [], 0, None
        if not self._settled:
            self._skip(head, tail)


def _end_of(before: bytes, more: bytes) -> bytes:
    return more[-GLIMPSE:] if len(more) >= GLIMPSE else (before + more)[-GLIMPSE:]
