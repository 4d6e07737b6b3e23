"""A stream of pictures and calls: whoever shows the yard hears when to look again, and of whom."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final

import msgspec
from starlette.responses import Response, StreamingResponse

from toolyard.core.model import Entry, Snapshot
from toolyard.features.history.call_log import CallLog
from toolyard.features.history.model import LoggedCall, Outcome
from toolyard.features.servers.instances import running
from toolyard.hub import Hub, problems
from toolyard.surfaces.control.api import Call, Operation
from toolyard.wire import jsonrpc

HEARTBEAT_SECONDS: Final = 15.0
LOOK_SECONDS: Final = 0.25
"""How often to look whether the hub stops: a stream must not hold it up."""
COALESCE_SECONDS: Final = 0.1
"""A server that starts changes the picture several times within a moment."""
MEDIA: Final = "text/event-stream"
GROUPS_KEPT: Final = 1000
TIMES_KEPT: Final = 20


Present = Callable[[], Counter[bytes]]
"""Who has a session now: how many, by what they say of themselves."""


class CallGroup(msgspec.Struct):
    """Calls of one agent to one server that ended within the same moment."""

    agent: str
    server: str
    calls: int = 0
    errors: int = 0
    ms: list[float] = []
    """How long they took; of many, the first."""


class ServerNews(msgspec.Struct, frozen=True):
    """One server on a picture."""

    status: str
    tools: int
    held: int
    """The parts that wait for approval."""


class PictureNews(msgspec.Struct, frozen=True):
    """A new picture, in short: whoever shows it knows what to ask for again."""

    revision: int
    servers: dict[str, ServerNews]
    problems: int
    profiles: list[str]


class InstanceNews(msgspec.Struct, frozen=True):
    """One server that runs apart, in short."""

    server: str
    mode: str
    status: str
    owner: str
    client: str
    agent: str
    where: str
    since: float | None
    leaving: bool


class HeardCalls(msgspec.Struct, frozen=True):
    """Calls that are over: those after the first `since` since the hub began, up to `upto`."""

    since: int
    upto: int
    groups: list[CallGroup]


class Heard:
    """The calls that one listener has not been told of yet."""

    def __init__(self, passed: int) -> None:
        self._since = self._upto = passed
        self.groups: dict[tuple[str, str], CallGroup] = {}

    def __call__(self, calls: Sequence[LoggedCall]) -> None:
        """Calls are over."""
        self._upto += len(calls)
        for call in calls:
            key = call.agent, call.server
            group = self.groups.get(key)
            if group is None:
                if len(self.groups) >= GROUPS_KEPT:
                    continue
                group = self.groups[key] = CallGroup(*key)
            group.calls += 1
            group.errors += call.outcome in (Outcome.ERROR, Outcome.TOOL_ERROR)
            if len(group.ms) < TIMES_KEPT:
                group.ms.append(round(call.ms, 1))

    def take(self) -> bytes:
        """What was heard, as an event."""
        said = jsonrpc.encode(HeardCalls(self._since, self._upto, list(self.groups.values())))
        self.groups = {}
        self._since = self._upto
        return b"event: calls\ndata: %b\n\n" % said


class EventsDoor:
    """Tells of every new picture, until the client leaves or the hub stops."""

    def __init__(
        self, hub: Hub, call_log: CallLog, stopping: asyncio.Event, present: Present
    ) -> None:
        self._hub = hub
        self._call_log = call_log
        self._stopping = stopping
        self._present = present

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        text = "Every new picture, all calls and who is there, as server-sent events"
        return [Operation("GET", "/api/v1/events", text, self._events, str, media=MEDIA)]

    async def _events(self, call: Call) -> Response:
        headers = {"cache-control": "no-cache, no-transform", "x-accel-buffering": "no"}
        if call.request.method == "HEAD":
            return Response(b"", 200, headers, media_type=MEDIA)
        seen = call.request.headers.get("last-event-id", "")
        last = int(seen) if seen.isascii() and seen.isdigit() and len(seen) < 16 else -1
        return StreamingResponse(self._stream(last), 200, headers, media_type=MEDIA)

    async def _stream(self, last: int) -> AsyncIterator[bytes]:
        heard = Heard(self._call_log.passed)
        self._call_log.listeners.append(heard)
        try:
            async for event in self._tell(last, heard):
                yield event
        finally:
            self._call_log.listeners.remove(heard)

    async def _tell(self, last: int, heard: Heard) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        spoke = loop.time()
        # A number from before a restart is not of this picture's life.
        last = min(last, self._hub.snapshot.revision)
        seen, there = 0, self._present()
        yield b": toolyard\n\n"
        while not self._stopping.is_set():
            snapshot = await self._after(last)
            if seen != self._hub.instances.revision:
                seen, spoke = self._hub.instances.revision, loop.time()
                yield b"event: instances\ndata: %b\n\n" % jsonrpc.encode(_running(self._hub))
            if there != (now := self._present()):
                there, spoke = now, loop.time()
                yield b'event: clients\ndata: {"sessions": %d}\n\n' % sum(there.values())
            if snapshot is not None:
                last, spoke = snapshot.revision, loop.time()
                yield _event(snapshot)
                await asyncio.sleep(COALESCE_SECONDS)
            if heard.groups:
                spoke = loop.time()
                yield heard.take()
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


def _running(hub: Hub) -> list[InstanceNews]:
    """Return what runs apart, in short; the rest is on the picture."""
    rows = running(hub.snapshot, hub.pool, hub.instances, {})
    fields = InstanceNews.__struct_fields__
    return [InstanceNews(*(getattr(row, field) for field in fields)) for row in rows if row.agent]


def _summary(snapshot: Snapshot) -> PictureNews:
    return PictureNews(
        snapshot.revision,
        {entry.alias: _news(entry) for entry in snapshot.entries.values()},
        sum(1 for _ in problems(snapshot)),
        sorted(snapshot.profiles),
    )


def _news(entry: Entry) -> ServerNews:
    status = entry.status.value if entry.server.enabled else "disabled"
    return ServerNews(status, len(entry.offers.tools), len(entry.held.parts))
