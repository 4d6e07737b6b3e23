"""Forwards a port of this machine to a port of a pod, through the API of its cluster."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from toolyard.core.errors import StartError
from toolyard.executors.kubernetes.api import Api

if TYPE_CHECKING:
    from aiohttp import ClientWebSocketResponse

_log = logging.getLogger(__name__)

_PROTOCOL: Final = ("v4.channel.k8s.io",)
_DATA, _ERROR = 0, 1
_PIECE = 64 * 1024
_PORT_BYTES = 2  # each channel begins with the port it is for


@asynccontextmanager
async def forward(api: Api, pick: Callable[[], str], port: int) -> AsyncIterator[int]:
    """Listen on loopback, and forward each connection to a port of the pod that `pick` returns."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            query = {"ports": str(port)}
            async with api.socket(pick(), "portforward", query, _PROTOCOL) as socket:
                await _carry(reader, writer, socket)
        except StartError as error:
            _log.warning("cannot forward to port %d: %s", port, error)
        finally:
            writer.close()

    async with relay(handle, "127.0.0.1") as local:
        yield local


@asynccontextmanager
async def relay(
    handle: Callable[[asyncio.StreamReader, asyncio.StreamWriter], object], host: str
) -> AsyncIterator[int]:
    """Listen on a free port; leaving ends all open connections."""
    passing: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        passing.add(task)
        try:
            await handle(reader, writer)  # type: ignore[misc]
        except (OSError, asyncio.CancelledError):
            # Cancelled below, by us; asyncio would log it as an error.
            writer.close()
        finally:
            passing.discard(task)

    server = await asyncio.start_server(accept, host, 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tuple(passing):
            task.cancel()
        if passing:
            await asyncio.wait(passing)


async def _carry(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, socket: ClientWebSocketResponse
) -> None:
    async with asyncio.TaskGroup() as tasks:
        sending = tasks.create_task(_send(reader, socket))
        await _receive(writer, socket)
        sending.cancel()


async def _send(reader: asyncio.StreamReader, socket: ClientWebSocketResponse) -> None:
    try:
        while data := await reader.read(_PIECE):
            await socket.send_bytes(bytes([_DATA]) + data)
        await socket.close()  # the protocol cannot close half a connection
    except OSError:
        await socket.close()


async def _receive(writer: asyncio.StreamWriter, socket: ClientWebSocketResponse) -> None:
    skipped = {_DATA: _PORT_BYTES, _ERROR: _PORT_BYTES}
    async for message in socket:
        if not isinstance(message.data, bytes) or not message.data:
            continue
        channel, data = message.data[0], message.data[1:]
        if channel not in skipped:
            continue
        left = skipped[channel]
        skipped[channel], data = max(0, left - len(data)), data[left:]
        if channel == _ERROR and data:
            _log.warning("the pod refused a connection: %s", data.decode(errors="replace").strip())
            await socket.close()
        elif data and not await _write(writer, data):
            await socket.close()


async def _write(writer: asyncio.StreamWriter, data: bytes) -> bool:
    """Write data; return False if nobody reads it any more."""
    try:
        writer.write(data)
        await writer.drain()
    except OSError:
        return False
    return True
