"""Server-sent events, read and written as the standard has them."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from toolyard.wire.jsonrpc import one_line
from toolyard.wire.pieces import Pieces

_END: Final = re.compile(rb"\r\n|\n|\r")
_BOM: Final = b"\xef\xbb\xbf"


class ServerEvent(NamedTuple):
    """One event: its type (`message` if none is given), its data and its id."""

    type: bytes
    data: bytes
    id: bytes


class TooLongError(ValueError):
    """An event grew past the limit."""


class Events:
    """Cuts a stream of bytes into events; comments and unknown fields are passed over."""

    __slots__ = (
        "_begun",
        "_data",
        "_has_data",
        "_id",
        "_limit",
        "_rest",
        "_size",
        "_skip_lf",
        "_type",
    )

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rest = Pieces()
        self._size = 0
        self._type = self._id = b""
        self._data = Pieces()
        self._has_data = self._skip_lf = self._begun = False

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """Take bytes as they arrive; return the events they complete.

        Raises:
            TooLongError: An event is longer than the limit.
        """
        if not chunk:
            return []
        # A CR at the end of a chunk has ended its line already; the LF of the pair comes late.
        if self._skip_lf and chunk[:1] == b"\n":
            chunk = chunk[1:]
        self._size += len(chunk)
        out: list[ServerEvent] = []
        start = 0
        for end in _END.finditer(chunk):
            line = chunk[start : end.start()]
            start = end.end()
            if self._rest.size:
                self._rest.add(line)
                line = self._rest.take()
            if not line:
                # Counted are the bytes since the last blank line: heartbeats must not add up.
                self._size = len(chunk) - start
            if (event := self._take(line)) is not None:
                out.append(event)
        self._skip_lf = chunk.endswith(b"\r")
        if start < len(chunk):
            self._rest.add(chunk[start:])
        if self._size > self._limit:
            raise TooLongError(f"an event is longer than {self._limit} bytes")
        return out

    def _take(self, line: bytes) -> ServerEvent | None:
        if not self._begun:
            self._begun = True
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        if name == b"data":
            if self._has_data:
                self._data.add(b"\n")
            self._has_data = True
            self._data.add(value)
        elif name == b"event":
            self._type = value
        elif name == b"id" and b"\0" not in value:
            self._id = value
        return None

    def _dispatch(self) -> ServerEvent | None:
        kind, self._type = self._type or b"message", b""
        if not self._has_data:
            return None
        self._has_data = False
        return ServerEvent(kind, self._data.take(), self._id)


def event(message: bytes) -> bytes:
    """A message as one event; only this function writes events, so no text can forge another."""
    return b"event: message\r\ndata: %b\r\n\r\n" % one_line(message)


HEARTBEAT: Final = b": still here\r\n\r\n"
"""A comment that keeps idle streams from being cut by something in between."""
