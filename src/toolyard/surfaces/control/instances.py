"""What runs, over the control API."""

from __future__ import annotations

import asyncio

import msgspec

from toolyard.executors.local.usage import memory_of
from toolyard.hub import Hub
from toolyard.hub.running import InstanceRow, pids, running
from toolyard.surfaces.control.api import Call, Operation


class InstanceList(msgspec.Struct, frozen=True):
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

    async def _list(self, call: Call) -> InstanceList:
        # To add up the memory, every process of the machine is looked at.
        memory = await asyncio.to_thread(memory_of, pids(self._hub))
        return InstanceList(running(self._hub, memory))
