"""A reply that becomes a stream of events with the first message put into it."""

from __future__ import annotations

import asyncio
from typing import Final

from toolyard.doors.http.reply import HttpReply
from toolyard.wire import sse

HEARTBEAT_SECONDS: Final = 15.0
HEAD: Final = (
    b"content-type: text/event-stream\r\n"
    b"cache-control: no-cache, no-transform\r\n"
    b"x-accel-buffering: no\r\n"
)


class Stream:
    """Says things before the answer; keeps a silent stream alive."""

    __slots__ = ("_beat", "_loop", "_reply")

    def __init__(self, reply: HttpReply) -> None:
        self._reply = reply
        self._loop = asyncio.get_running_loop()
        self._reply.start(200, HEAD)
        self._beat = self._loop.call_later(HEARTBEAT_SECONDS, self._still_here)

    def put(self, message: bytes) -> None:
        """Say something."""
        self._reply.write(sse.event(message))

    def close(self) -> None:
        """The client is gone."""
        self._beat.cancel()

    def finish(self, message: bytes = b"") -> None:
        """Say the last thing and end."""
        self._beat.cancel()
        if message:
            self.put(message)
        self._reply.finish()

    def _still_here(self) -> None:
        self._reply.write(sse.HEARTBEAT)
        self._beat = self._loop.call_later(HEARTBEAT_SECONDS, self._still_here)
