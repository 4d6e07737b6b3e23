"""A stream of pictures and calls: whoever shows the yard hears when to look again, and of whom."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Final

import msgspec

from toolyard.core.model import Entry, Snapshot
from toolyard.features.history.call_log import CallLog
from toolyard.features.history.model import LoggedCall, Outcome
from toolyard.features.servers.instances import running
from toolyard.features.servers.picture import problems
from toolyard.links.instances import Instances
from toolyard.links.pool import LinkPool
from toolyard.relay.relay import Relay
from toolyard.relay.waiting_everywhere import WaitingEverywhere
from toolyard.wire import jsonrpc
from toolyard.yard import Stopping, Yard

HEARTBEAT_SECONDS: Final = 15.0
LOOK_SECONDS: Final = 0.25
"""How often to look whether the hub stops: a stream must not hold it up."""
COALESCE_SECONDS: Final = 0.1
"""A server that starts changes the picture several times within a moment."""
WAITING: Final = b'event: waiting\ndata: {"calls": %d}\n\n'
"""The number of calls that wait for a yes; told whenever they are others."""
GROUPS_KEPT: Final = 1000
TIMES_KEPT: Final = 20


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
        body = jsonrpc.encode(HeardCalls(self._since, self._upto, list(self.groups.values())))
        self.groups = {}
        self._since = self._upto
        return b"event: calls\ndata: %b\n\n" % body


async def tell_events(yard: Yard, last: int) -> AsyncIterator[bytes]:
    """Tell of every new picture after `last`, until the hub stops."""
    call_log = yard.part(CallLog)
    heard = Heard(call_log.passed)
    call_log.listeners.append(heard)
    try:
        async for event in _tell(yard, last, heard):
            yield event
    finally:
        call_log.listeners.remove(heard)


async def _tell(yard: Yard, last: int, heard: Heard) -> AsyncIterator[bytes]:
    loop, instances, stopping = (
        asyncio.get_running_loop(),
        yard.part(Instances),
        yard.part(Stopping),
    )
    spoke = loop.time()
    # A number from before a restart is not of this picture's life.
    last = min(last, yard.snapshot.revision)
    revision, present, waiting = 0, _present(yard), 0
    yield b": toolyard\n\n"
    while not stopping.is_set():
        snapshot = await _after(yard, last)
        if revision != instances.revision:
            revision, spoke = instances.revision, loop.time()
            yield b"event: instances\ndata: %b\n\n" % jsonrpc.encode(_running(yard))
        if present != (now := _present(yard)):
            present, spoke = now, loop.time()
            yield b'event: clients\ndata: {"sessions": %d}\n\n' % sum(present.values())
        if waiting != (calls := yard.part(WaitingEverywhere)).revision:
            waiting, spoke = calls.revision, loop.time()
            yield WAITING % calls.count()
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


def _present(yard: Yard) -> Counter[bytes]:
    """The clients that have a session now: how many, by what they say of themselves."""
    return Counter(session.info for session in yard.part(Relay).subscriptions.sessions)


async def _after(yard: Yard, revision: int) -> Snapshot | None:
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            return await yard.board.wait_after(revision)
    except TimeoutError:
        return None


def _event(snapshot: Snapshot) -> bytes:
    body = jsonrpc.encode(_summary(snapshot))
    return b"event: picture\nid: %d\ndata: %b\n\n" % (snapshot.revision, body)


def _running(yard: Yard) -> list[InstanceNews]:
    """All that runs apart, in short; the rest is on the picture."""
    rows = running(yard.snapshot, yard.part(LinkPool), yard.part(Instances), {})
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
