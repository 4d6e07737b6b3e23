"""The stdin and stdout of a container over one connection to its daemon."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, cast

from toolyard.executors.child import STDERR, STDIN, STDOUT, Child
from toolyard.executors.docker.frames import Frames
from toolyard.executors.tail import LogFile

_HEAD_BYTES = 16 * 1024


class AttachError(Exception):
    """The daemon refused to attach."""


class ContainerChild(Child):
    """The pipes of a server in a container."""

    def __init__(self, identity: str, log: LogFile | None) -> None:
        super().__init__(log)
        self._identity = identity

    @property
    def where(self) -> str:
        """The place it runs at, for people."""
        return f"container {self._identity[:12]}"


class AttachProtocol(asyncio.Protocol):
    """Asks to attach; then passes output to the child, and input of the child to stdin."""

    def __init__(
        self, child: ContainerChild, identity: str, detached: Callable[[], None], *, stdin: bool
    ) -> None:
        self._child = child
        self._detached = detached
        self._stdin = stdin
        self._frames = Frames()
        self._head = bytearray()
        self._transport: asyncio.Transport | None = None
        self._request = (
            f"POST /containers/{identity}/attach?stream=1&stdout=1&stderr=1&stdin={int(stdin)} "
            "HTTP/1.1\r\nHost: docker\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"
            "Content-Type: text/plain\r\nContent-Length: 0\r\n\r\n"
        )
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once the daemon has accepted the request."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the request."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(self._request.encode())

    def data_received(self, data: bytes) -> None:
        """Pass on output of the server."""
        if not self.opened.done():
            self._head += data
            data = self._open()
        if not data:
            return
        try:
            for pipe, piece in self._frames.feed(data):
                # All output of a server that speaks HTTP belongs in its log.
                self._child.arrived(pipe if self._stdin else STDERR, piece)
        except ValueError:
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the end of all pipes."""
        if not self.opened.done():
            self.opened.set_exception(AttachError("the connection was closed"))
        for pipe in (STDOUT, STDERR, STDIN):
            self._child.lost(pipe)
        self._detached()

    def close(self) -> None:
        """Drop the connection."""
        if not self.opened.done():
            self.opened.cancel()
        if self._transport is not None:
            self._transport.abort()

    def _open(self) -> bytes:
        """Read the head of the daemon's answer; return the bytes after it."""
        head, end, rest = bytes(self._head).partition(b"\r\n\r\n")
        if not end:
            if len(self._head) > _HEAD_BYTES:
                self.close()
            return b""
        if head.split(b" ", 2)[1:2] not in ([b"101"], [b"200"]):
            self.opened.set_exception(AttachError(rest.decode(errors="replace").strip()))
            self.close()
            return b""
        self._give()
        self.opened.set_result(None)
        return rest

    def _give(self) -> None:
        assert self._transport is not None
        reading = _SharedReading(self._transport)
        for pipe in (STDOUT, STDERR):
            self._child.attach(pipe, cast(asyncio.BaseTransport, _OutputTransport(reading, pipe)))
        if self._stdin:
            self._child.attach(STDIN, cast(asyncio.BaseTransport, _InputTransport(self._transport)))


class _Readable(Protocol):
    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...
    def is_closing(self) -> bool: ...
    def close(self) -> None: ...


class _SharedReading:
    """Pauses the connection while either of its two outputs is paused."""

    def __init__(self, transport: _Readable) -> None:
        self.transport = transport
        self._paused: set[int] = set()

    def pause(self, pipe: int) -> None:
        if not self._paused and not self.transport.is_closing():
            self.transport.pause_reading()
        self._paused.add(pipe)

    def resume(self, pipe: int) -> None:
        was_paused = bool(self._paused)
        self._paused.discard(pipe)
        if was_paused and not self._paused and not self.transport.is_closing():
            self.transport.resume_reading()


class _OutputTransport:
    """One of the two outputs, as a transport."""

    def __init__(self, reading: _SharedReading, pipe: int) -> None:
        self._reading = reading
        self._pipe = pipe

    def pause_reading(self) -> None:
        self._reading.pause(self._pipe)

    def resume_reading(self) -> None:
        self._reading.resume(self._pipe)

    def is_closing(self) -> bool:
        return self._reading.transport.is_closing()

    def close(self) -> None:
        self._reading.transport.close()


class _InputTransport:
    """Stdin, as a transport."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._closed = False

    def write(self, data: bytes) -> None:
        self._transport.write(data)

    def is_closing(self) -> bool:
        return self._closed or self._transport.is_closing()

    def get_write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size()

    def close(self) -> None:
        """Close stdin alone where the connection can (TLS cannot), or else the whole connection."""
        if self.is_closing():
            return
        self._closed = True
        if self._transport.can_write_eof():
            self._transport.write_eof()
        else:
            self._transport.close()

    def abort(self) -> None:
        self._transport.abort()
