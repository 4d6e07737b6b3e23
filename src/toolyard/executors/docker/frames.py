"""The framing of attached output: an eight-byte header, then a piece of stdout or stderr.

A frame is not a line: one line may come in many frames, and a frame in many chunks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

HEADER: Final = 8


class Frames:
    """Splits chunks into `(pipe, piece)`; a piece never waits for the rest of its frame."""

    def __init__(self) -> None:
        self._head = b""
        self._pipe = 0
        self._left = 0

    def feed(self, chunk: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield the pieces in this chunk: pipe 1 is stdout, 2 is stderr.

        Raises:
            ValueError: The stream is not framed, like that of a terminal.
        """
        at = 0
        while at < len(chunk):
            if not self._left:
                at = self._read_header(chunk, at)
                continue
            piece = chunk[at : at + self._left]
            at += len(piece)
            self._left -= len(piece)
            yield self._pipe, piece

    def _read_header(self, chunk: bytes, at: int) -> int:
        end = at + HEADER - len(self._head)
        self._head += chunk[at:end]
        if len(self._head) == HEADER:
            if self._head[0] > 2 or self._head[1:4] != b"\0\0\0":
                raise ValueError(f"no header of a frame: {self._head!r}")
            # 0 would be stdin, echoed; docker never sends it, and stdout is where it would show.
            self._pipe = self._head[0] or 1
            self._left = int.from_bytes(self._head[4:])
            self._head = b""
        return min(end, len(chunk))
