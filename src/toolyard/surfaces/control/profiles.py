"""Profiles over the control API."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from toolyard.core.profiles import LONGEST_TEXT, MOST, read_profile, unknown_profile, write_profile
from toolyard.hub import Hub
from toolyard.hub.orders import Orders
from toolyard.surfaces.control.api import Call, Operation, Reply
from toolyard.surfaces.control.rows import Ordered

TOP = "/api/v1/profiles"
ONE = "/api/v1/profiles/{name}"
Text = Annotated[str, Meta(max_length=LONGEST_TEXT)]
Pattern = Annotated[str, Meta(min_length=1, max_length=LONGEST_TEXT)]
Patterns = Annotated[list[Pattern], Meta(max_length=MOST)]


class ProfileSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How tools are shown within a profile, if not as usual."""

    separator: Literal["__", ".", "/"] | UnsetType = UNSET
    expose: Literal["all", "search"] | UnsetType = UNSET


class ProfileBody(msgspec.Struct, forbid_unknown_fields=True):
    """What a profile selects, and how it shows it."""

    title: Text = ""
    allow: Patterns = []
    hide: Patterns = []
    pin: Patterns = []
    rename: dict[str, str] = {}
    describe: dict[str, str] = {}
    environment: dict[str, str] = {}
    settings: ProfileSettings = ProfileSettings()


class ProfileRow(ProfileBody):
    """A profile, and where clients find it."""

    name: str = ""
    path: str = ""


class ProfileList(msgspec.Struct):
    """Every profile."""

    revision: int
    profiles: list[ProfileRow]


class ProfilesDoor:
    """Questions and orders about profiles."""

    def __init__(self, hub: Hub, orders: Orders) -> None:
        self._hub = hub
        self._orders = orders

    def operations(self) -> list[Operation]:
        """What this part of the API can do."""
        tag: dict[str, Any] = {"tag": "profiles"}
        order: dict[str, Any] = {"tag": "profiles", "changes": True}
        return [
            Operation("GET", TOP, "All profiles", self._list, ProfileList, **tag),
            Operation("GET", ONE, "One profile", self._one, ProfileRow, **tag),
            Operation("PUT", ONE, "Write it", self._put, Ordered, body=ProfileBody, **order),
            Operation("DELETE", ONE, "Delete it", self._remove, Ordered, **order),
        ]

    async def _list(self, call: Call) -> Reply:
        snapshot = self._hub.snapshot
        rows = [self._row(name) for name in snapshot.profiles]
        return Reply(ProfileList(snapshot.revision, rows), etag=str(snapshot.revision))

    async def _one(self, call: Call) -> Reply:
        return Reply(self._row(call.path["name"]), etag=str(self._hub.snapshot.revision))

    def _row(self, name: str) -> ProfileRow:
        profiles = self._hub.snapshot.profiles
        if name not in profiles:
            raise unknown_profile(name, profiles)
        said = write_profile(profiles[name])
        return msgspec.convert({**said, "name": name, "path": f"/mcp/p/{name}"}, ProfileRow)

    async def _put(self, call: Call) -> Ordered:
        name = call.path["name"]
        profile = read_profile(name, msgspec.to_builtins(call.body))
        return Ordered(name, await self._orders.put_profile(profile))

    async def _remove(self, call: Call) -> Ordered:
        name = call.path["name"]
        return Ordered(name, await self._orders.remove_profile(name))
