"""What runs, over the control API."""

from __future__ import annotations

import asyncio

import msgspec

from toolyard.executors.local.usage import memory_of
from toolyard.hub import Hub
from toolyard.hub.running import Row, pids, running
from toolyard.surfaces.control.api import Call, Operation


class Fault(msgspec.Struct):
    """What was wrong last."""

    code: str
    text: str
    hint: str


class InstanceRow(msgspec.Struct):
    """One running server, or one that was sent to rest or fails."""

    server: str
    id: str
    transport: str
    mode: str
    """`shared` or `per_session`."""
    status: str
    executor: str
    """The name of the place where it runs; empty for this machine."""
    where: str
    """Where it runs, in words for people."""
    pid: int
    since: float | None
    """Seconds since the epoch."""
    memory: int | None
    """Bytes of it and all it started; null where that is unknown."""
    calls: int
    """Calls under way."""
    restarts: int
    unattributed: int
    """Messages that could not be attributed to a caller, and went to nobody."""
    note: str
    """Why it rests, if it was sent to."""
    error: Fault | None
    stderr: list[str]
    """Its last lines, if something was wrong."""
    owner: str
    """What stands for the session it runs for; empty if it is shared."""
    client: str
    agent: str
    profile: str
    """The profile whose clients alone it runs for, because that has variables of its own."""
    leaving: bool
    """Whether its session has left; it ends soon, unless the session comes back."""


class InstanceList(msgspec.Struct):
    """All that runs."""

    instances: list[InstanceRow]


class InstancesDoor:
    """The question what runs."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        text = "Every running server: where, since when, for whom, how it is doing"
        return [Operation("GET", "/api/v1/instances", text, self._list, InstanceList)]

    async def _list(self, call: Call) -> dict[str, list[Row]]:
        # To add up the memory, every process of the machine is looked at.
        memory = await asyncio.to_thread(memory_of, pids(self._hub))
        return {"instances": running(self._hub, memory)}
