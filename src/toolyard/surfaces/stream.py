"""The way back over HTTP: plain JSON, unless something has to be said before the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from toolyard.wire import sse
from toolyard.wire.tasks import Tasks

HEARTBEAT_SECONDS: Final = 15.0
QUEUE_BYTES: Final = 8 << 20
"""A client that does not read gets no more than this queued for it."""
STREAM_HEADERS: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]

Send = Callable[[dict[str, Any]], Awaitable[None]]


class Stream:
    """A response that becomes a stream of events with the first message put into it."""

    __slots__ = (
        "_closed",
        "_pump",
        "_queue",
        "_send",
        "_size",
        "_tasks",
        "_wake",
        "headers",
        "on_overflow",
    )

    def __init__(self, send: Send, tasks: Tasks, headers: list[tuple[bytes, bytes]]) -> None:
        self._send = send
        self._tasks = tasks
        self._queue: list[bytes] = []
        self._size = 0
        self._wake: asyncio.Event | None = None
        self._pump: asyncio.Task[Any] | None = None
        self._closed = False
        self.headers = headers
        self.on_overflow: Callable[[], None] | None = None

    @property
    def started(self) -> bool:
        """Whether it is a stream of events already."""
        return self._pump is not None

    def start(self) -> None:
        """Begin the stream now, with nothing to say yet."""
        if self._pump is None and not self._closed:
            self._wake = asyncio.Event()
            self._pump = self._tasks.start(self._run())

    def put(self, message: bytes) -> None:
        """Say something before the answer."""
        if self._closed:
            return
        self._queue.append(sse.event(message))
        self._size += len(message)
        if self._size > QUEUE_BYTES:
            self._closed = True
            if self.on_overflow is not None:
                self.on_overflow()
            return
        self.start()
        if self._wake is not None:
            self._wake.set()

    async def finish(self, message: bytes = b"") -> None:
        """Say the last thing and end."""
        if message:
            self.put(message)
        self._closed = True
        if self._pump is not None and self._wake is not None:
            self._wake.set()
            await self._pump

    async def _run(self) -> None:
        assert self._wake is not None  # noqa: S101 - set before the task starts
        headers = [*STREAM_HEADERS, *self.headers]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        # A first empty piece makes the server send the head at once.
        await self._send({"type": "http.response.body", "body": b"", "more_body": True})
        while True:
            if not self._queue and not self._closed:
                self._wake.clear()
                try:
                    async with asyncio.timeout(HEARTBEAT_SECONDS):
                        await self._wake.wait()
                except TimeoutError:
                    self._queue.append(sse.HEARTBEAT)
            chunk, self._queue, self._size = b"".join(self._queue), [], 0
            last = self._closed
            await self._send({"type": "http.response.body", "body": chunk, "more_body": not last})
            if last:
                return


async def respond(
    send: Send, status: int, body: bytes = b"", headers: list[tuple[bytes, bytes]] | None = None
) -> None:
    """Send a whole answer at once."""
    head = [(b"content-length", b"%d" % len(body)), *(headers or ())]
    if body:
        head.append((b"content-type", b"application/json"))
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})
