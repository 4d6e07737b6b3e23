"""A stream of the picture's revisions: whoever shows the yard hears when to look again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

from starlette.responses import Response, StreamingResponse

from toolyard.core.model import Snapshot
from toolyard.hub import Hub, problems
from toolyard.surfaces.control.api import Call, Operation
from toolyard.wire import jsonrpc

HEARTBEAT_SECONDS: Final = 15.0
LOOK_SECONDS: Final = 0.25
"""How often to look whether the hub stops: a stream must not hold it up."""
COALESCE_SECONDS: Final = 0.1
"""A server that starts changes the picture several times within a moment."""
MEDIA: Final = "text/event-stream"


class EventsDoor:
    """Tells of every new picture, until the client leaves or the hub stops."""

    def __init__(self, hub: Hub, stopping: asyncio.Event) -> None:
        self._hub = hub
        self._stopping = stopping

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        text = "Every new picture, as server-sent events"
        return [Operation("GET", "/api/v1/events", text, self._events, str, media=MEDIA)]

    async def _events(self, call: Call) -> Response:
        headers = {"cache-control": "no-cache, no-transform", "x-accel-buffering": "no"}
        if call.request.method == "HEAD":
            return Response(b"", 200, headers, media_type=MEDIA)
        seen = call.request.headers.get("last-event-id", "")
        last = int(seen) if seen.isascii() and seen.isdigit() and len(seen) < 16 else -1
        return StreamingResponse(self._stream(last), 200, headers, media_type=MEDIA)

    async def _stream(self, last: int) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        spoke = loop.time()
        # A number from before a restart is not of this picture's life.
        last = min(last, self._hub.snapshot.revision)
        yield b": toolyard\n\n"
        while not self._stopping.is_set():
            snapshot = await self._after(last)
            if snapshot is not None:
                last, spoke = snapshot.revision, loop.time()
                yield _event(snapshot)
                await asyncio.sleep(COALESCE_SECONDS)
            elif loop.time() - spoke > HEARTBEAT_SECONDS:
                spoke = loop.time()
                yield b": still here\n\n"

    async def _after(self, revision: int) -> Snapshot | None:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                return await self._hub.board.wait_after(revision)
        except TimeoutError:
            return None


def _event(snapshot: Snapshot) -> bytes:
    said = jsonrpc.encode(_summary(snapshot))
    return b"event: picture\nid: %d\ndata: %b\n\n" % (snapshot.revision, said)


def _summary(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "revision": snapshot.revision,
        "servers": {
            entry.alias: {
                "status": entry.status.value if entry.server.enabled else "disabled",
                "tools": len(entry.offers.tools),
                "held": len(entry.held),
            }
            for entry in snapshot.entries.values()
        },
        "problems": sum(1 for _ in problems(snapshot)),
        "profiles": sorted(snapshot.profiles),
    }
