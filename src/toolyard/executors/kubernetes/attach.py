"""The pipes of a server in a pod: stdin, stdout and stderr over one web socket."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import msgspec

from toolyard.executors.child import STDERR, STDIN, STDOUT, Child
from toolyard.executors.tail import LogFile

if TYPE_CHECKING:
    from aiohttp import ClientWebSocketResponse

PROTOCOLS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io")
"""The first can close stdin alone; clusters before 1.30 know only the second."""
QUERY: Final = {"stdin": "true", "stdout": "true", "stderr": "true", "tty": "false"}
_ERROR, _CLOSE = 3, 255
_PIECE = 32 * 1024


class _InputTransport(asyncio.WriteTransport):
    """The queue of bytes for stdin, as a transport."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces = bytearray()
        self._news = asyncio.Event()
        self._closing = False

    def write(self, data: Any) -> None:
        self._pieces += data
        self._news.set()

    def close(self) -> None:
        self._closing = True
        self._news.set()

    def abort(self) -> None:
        self._pieces.clear()
        self.close()

    def is_closing(self) -> bool:
        return self._closing

    def get_write_buffer_size(self) -> int:
        return len(self._pieces)

    async def piece(self) -> bytes:
        """Return the next piece to send; empty once stdin is closed."""
        while not self._pieces and not self._closing:
            self._news.clear()
            await self._news.wait()
        return bytes(self._pieces[:_PIECE])

    def sent(self, count: int) -> None:
        """Drop bytes that the cluster has accepted."""
        del self._pieces[:count]


class _OutputTransport(asyncio.ReadTransport):
    """One output, as a transport that can be paused."""

    def __init__(self) -> None:
        super().__init__()
        self.flows = asyncio.Event()
        self.flows.set()
        self._closing = False

    def pause_reading(self) -> None:
        self.flows.clear()

    def resume_reading(self) -> None:
        self.flows.set()

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        self._closing = True
        self.flows.set()


class PodChild(Child):
    """The pipes of a server in a pod."""

    def __init__(self, where: str, log: LogFile | None) -> None:
        super().__init__(log)
        self._where = where
        self._stdin = _InputTransport()
        self._streams = {STDOUT: _OutputTransport(), STDERR: _OutputTransport()}
        self.attach(STDIN, self._stdin)
        for pipe, stream in self._streams.items():
            self.attach(pipe, stream)
        self.stream_error = ""
        """The error with which the cluster ended the stream."""
        self._logged = b""

    @property
    def where(self) -> str:
        """The place it runs at, for people."""
        return self._where

    def take_log(self, log: bytes) -> None:
        """Process output from before the stream was opened."""
        self._logged = log
        self.arrived(STDERR, log)

    async def relay(self, socket: ClientWebSocketResponse) -> None:
        """Relay both directions until the stream ends."""
        async with asyncio.TaskGroup() as tasks:
            sending = tasks.create_task(self._send(socket))
            await self._receive(socket)
            if not self._stdin.is_closing():  # a stdin that is closing ends by itself
                sending.cancel()

    def report_end(self, status: str) -> None:
        """Note the end of the server, and of all its pipes."""
        self.exited(status)
        for pipe in (STDIN, STDOUT, STDERR):
            self.lost(pipe)

    async def _send(self, socket: ClientWebSocketResponse) -> None:
        try:
            while piece := await self._stdin.piece():
                await socket.send_bytes(bytes([STDIN]) + piece)
                self._stdin.sent(len(piece))
            if socket.protocol == PROTOCOLS[0]:
                await socket.send_bytes(bytes([_CLOSE, STDIN]))
            else:
                await socket.close()  # the only way to end stdin there
        except OSError:
            return  # the other direction notices

    async def _receive(self, socket: ClientWebSocketResponse) -> None:
        async for message in socket:
            if not isinstance(message.data, bytes | str):
                continue
            data = message.data.encode() if isinstance(message.data, str) else message.data
            if len(data) > 1:
                await self._take(data[0], data[1:])

    async def _take(self, channel: int, data: bytes) -> None:
        if channel in self._streams:
            if channel == STDERR and self._logged:
                data, self._logged = _unseen(self._logged, data), b""
            self.arrived(channel, data)
            await self._streams[channel].flows.wait()
        elif channel == _ERROR:
            self.stream_error += _message(data)


def _unseen(log: bytes, data: bytes) -> bytes:
    """Return the part of the first output on a stream that is not at the end of the log."""
    most = min(len(log), len(data))
    repeated = next((count for count in range(most, 0, -1) if log.endswith(data[:count])), 0)
    return data[repeated:]


def _message(data: bytes) -> str:
    try:
        status = msgspec.json.decode(data)
        return "" if status.get("status") == "Success" else str(status.get("message", ""))
    except (msgspec.DecodeError, AttributeError):
        return data.decode(errors="replace").strip()
