"""The way back to one request at the HTTP door: JSON, or a stream of events."""

from __future__ import annotations

from typing import Final

from msgspec import Raw

from toolyard.doors.http.reply import HttpReply
from toolyard.doors.http.stream import Stream
from toolyard.wire import era, jsonrpc

JSON: Final = b"content-type: application/json\r\n"
"""The header line of every answer that is no stream."""
STATUS: Final = {
    era.PARSE_ERROR: 400,
    era.INVALID_REQUEST: 400,
    era.HEADER_MISMATCH: 400,
    era.MISSING_CAPABILITY: 400,
    era.UNSUPPORTED_VERSION: 400,
    era.METHOD_NOT_FOUND: 404,
}
"""The HTTP status of a modern error; all others are 200."""


class HttpResponder:
    """Answers with JSON, unless something has to be said before the answer."""

    __slots__ = ("_is_modern", "_lines", "_reply", "_stream", "_takes_stream", "has_failed")

    def __init__(
        self, reply: HttpReply, *, is_modern: bool, takes_stream: bool, lines: bytes = b""
    ) -> None:
        """Answer through a reply; header lines may go with a result."""
        self._reply = reply
        self._is_modern = is_modern
        self._takes_stream = takes_stream
        self._lines = JSON + lines
        self._stream: Stream | None = None
        self.has_failed = False
        """True if the answer was an error."""

    def emit(self, message: bytes) -> None:
        """Send something before the answer, as a stream from here on, if the client takes one."""
        if not self._takes_stream:
            return
        if self._stream is None:
            self._stream = Stream(self._reply)
        self._stream.put(message)

    def answer(self, message: bytes, error: Raw) -> None:
        """Send the answer."""
        if self._stream is not None:
            self._stream.finish(message)
        elif error:
            self.has_failed = True
            self._reply.respond(self._status(error), message, JSON)
        else:
            self._reply.respond(200, message, self._lines)

    def cancelled(self, id_: bytes) -> None:
        """Tell whoever still waits that there is no answer."""
        fault = jsonrpc.fault(era.SERVER_ERROR, "the request was cancelled")
        self.answer(jsonrpc.error(id_, fault), jsonrpc.NOTHING)

    def hung_up(self) -> None:
        """The client is gone."""
        if self._stream is not None:
            self._stream.close()

    def _status(self, error: Raw) -> int:
        return STATUS.get(jsonrpc.read_fault(error).code, 200) if self._is_modern else 200
