"""What a profile would offer, before it is written, over the control API."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import msgspec

from toolyard.core.model import Report, Snapshot, SourceState
from toolyard.core.pins import schema_tokens
from toolyard.core.profiles import Profile, read_profile
from toolyard.relay.relay import Relay
from toolyard.relay.view import View, make_view
from toolyard.surfaces.control.api import Call, Operation
from toolyard.surfaces.control.profiles import ONE, ProfileBody


class OfferedTool(msgspec.Struct):
    """A tool that a profile offers, and under which name."""

    name: str
    server: str
    tool: str


class Offering(msgspec.Struct):
    """What clients of a profile would have."""

    tools: list[OfferedTool]
    listed: int
    """How many of all their tools clients would list, with those of the hub itself."""
    schema_tokens: int
    """About how many tokens of a model's context that list takes."""


class OfferingDoor:
    """The question what a profile would offer."""

    def __init__(self, relay: Relay) -> None:
        self._relay = relay

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        say = "What it would offer"
        path = f"{ONE}/preview"
        return [
            Operation("POST", path, say, self._preview, Offering, tag="profiles", body=ProfileBody)
        ]

    async def _preview(self, call: Call) -> Offering:
        profile = read_profile(call.path["name"], msgspec.to_builtins(call.body))
        snapshot = self._relay.hub.snapshot
        # Every tool is looked at, so it is done beside the loop.
        return _offering(await asyncio.to_thread(self._view, snapshot, profile))

    def _view(self, snapshot: Snapshot, profile: Profile) -> View:
        told = SourceState(Report("preview", profiles=(profile,)))
        imagined = replace(snapshot, sources={**snapshot.sources, "preview": told})
        return make_view(imagined, replace(self._relay.view_key, profile=profile.name), None)


def _offering(view: View) -> Offering:
    tools = [
        OfferedTool(name, route.alias, route.key)
        for name, route in view.tools.items()
        if route.server is not None
    ]
    listed = [modern for modern, _ in view.lists["tools"].items]
    return Offering(tools, len(listed), schema_tokens(listed))
