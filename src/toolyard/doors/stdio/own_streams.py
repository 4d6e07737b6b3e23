"""Our own stdin and stdout: a hub for one client alone."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from toolyard.doors.stdio.lines import LineClient
from toolyard.doors.stdio.wishes import Wishes
from toolyard.links.projects import ProjectFolders
from toolyard.relay.relay import Relay
from toolyard.wire.pipes import for_loop


async def serve_stdio(relay: Relay, projects: ProjectFolders, limit: int, wishes: Wishes) -> None:
    """Serve one client on our own stdin and stdout until its end."""
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    out = _Out(os.dup(1))
    projects.enter(wishes.cwd)
    client = LineClient(relay, out.write, limit, wishes)

    class Reader(asyncio.Protocol):
        def data_received(self, data: bytes) -> None:
            client.feed(data)

        def connection_lost(self, exc: Exception | None) -> None:
            if not over.done():
                over.set_result(None)

    stdin = for_loop(os.fdopen(os.dup(0), "rb", buffering=0))
    transport, _ = await loop.connect_read_pipe(Reader, stdin)
    try:
        await over
    finally:
        await client.close()
        transport.close()


class _Out:
    """Our stdout: whole writes, to whatever it is."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def write(self, data: bytes) -> None:
        view: Any = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]
