"""The way from a pod to a loopback port of the machine the hub runs on."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from toolyard.core.errors import StartError
from toolyard.executors.kubernetes.context import is_inside
from toolyard.executors.kubernetes.forward import relay
from toolyard.executors.kubernetes.options import Options

_PIECE = 64 * 1024


@asynccontextmanager
async def way_back(name: str, options: Options, port: int) -> AsyncIterator[str]:
    """Give the address by which pods reach a loopback port of this machine.

    An address of this machine gets a port of its own that is forwarded to loopback; any other host
    is expected to be forwarded here already, with the same port.

    Raises:
        StartError: The option `reach` is missing.
    """
    host = options.reach or (_own_address() if is_inside() else "")
    if not host:
        raise StartError(
            f'pods of executor "{name}" have no way to a port of this machine',
            'set the option "reach" to an address of this machine that nodes of the cluster know',
        )

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_pass(reader, inner_writer))
            tasks.create_task(_pass(inner_reader, writer))

    if not _is_ours(host):
        yield f"{host}:{port}"
        return
    async with relay(handle, host) as outer:
        yield f"{host}:{outer}"


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(_PIECE):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


def _own_address() -> str:
    """Return the address of the pod that the hub runs in."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return ""


def _is_ours(host: str) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((host, 0))
        except OSError:  # an address of another machine, or an unknown name
            return False
    return True
