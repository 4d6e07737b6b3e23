"""Questions and orders about profiles."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from toolyard.core.model import Report, Snapshot, SourceState
from toolyard.core.parts import schema_tokens
from toolyard.core.profiles import Profile, unknown_profile
from toolyard.features.profiles.model import ProfileFields, read_profile, write_profile
from toolyard.features.profiles.store import ProfileRecords
from toolyard.operation import Guard, Needs, NoInput, Ordered, operation
from toolyard.relay.relay import Relay
from toolyard.relay.view import View
from toolyard.relay.view_making import make_view
from toolyard.yard import Yard

TOP = "/api/v1/profiles"
ONE = "/api/v1/profiles/{name}"


class PutProfile(ProfileFields, frozen=True, kw_only=True):
    """A profile to write."""

    name: str

    def profile(self) -> Profile:
        """Return the profile it describes.

        Raises:
            ConfigError: It cannot be used.
        """
        fields = msgspec.to_builtins(self)
        del fields["name"]
        return read_profile(self.name, fields)

    @classmethod
    def of(cls, profile: Profile) -> PutProfile:
        """Return the order that writes a profile."""
        return cls(**asdict(write_profile(profile)), name=profile.name)


class ProfileName(Struct, frozen=True):
    """The profile that is meant."""

    name: str


class ProfileRow(ProfileFields, frozen=True, kw_only=True):
    """A profile, and the path at which clients find it."""

    name: str = ""
    path: str = ""

    def fields(self) -> ProfileFields:
        """Return what the profile itself says."""
        return ProfileFields(**{key: getattr(self, key) for key in ProfileFields.__struct_fields__})


class ProfileList(Struct, frozen=True):
    """Every profile."""

    revision: int
    profiles: list[ProfileRow]


class OfferedTool(Struct, frozen=True):
    """A tool that a profile offers, and the name it has there."""

    name: str
    server: str
    tool: str


class ProfilePreview(Struct, frozen=True):
    """The tools that clients of a profile would have."""

    tools: list[OfferedTool]
    listed: int
    """How many of all their tools clients would list, with those of the hub itself."""
    schema_tokens: int
    """About how many tokens of a model's context that list takes."""


@operation("GET", TOP, needs=Needs.FILES, from_picture=True)
async def list_profiles(yard: Yard, order: NoInput) -> ProfileList:
    """All profiles."""
    snapshot = yard.snapshot
    return ProfileList(snapshot.revision, [_row(profile) for profile in snapshot.profiles.values()])


@operation("GET", ONE, needs=Needs.FILES, from_picture=True)
async def get_profile(yard: Yard, order: ProfileName) -> ProfileRow:
    """One profile."""
    profiles = yard.snapshot.profiles
    if order.name not in profiles:
        raise unknown_profile(order.name, profiles)
    return _row(profiles[order.name])


@operation("PUT", ONE, needs=Needs.FILES, guard=Guard.PICTURE)
async def put_profile(yard: Yard, order: PutProfile) -> Ordered:
    """Write a profile; whoever uses it sees it at once."""
    profile = order.profile()
    write = yard.part(ProfileRecords).write
    await asyncio.to_thread(write, profile.name, profile, by=yard.caller)
    noticed = await yard.seen(lambda picture: picture.profiles.get(profile.name) == profile)
    return Ordered(profile.name, noticed)


@operation("DELETE", ONE, needs=Needs.FILES, guard=Guard.PICTURE)
async def remove_profile(yard: Yard, order: ProfileName) -> Ordered:
    """Delete a profile; clients that use it see nothing any more."""
    await asyncio.to_thread(yard.part(ProfileRecords).remove, order.name, by=yard.caller)
    noticed = await yard.seen(lambda picture: order.name not in picture.profiles)
    return Ordered(order.name, noticed)


@operation("POST", f"{ONE}/preview")
async def preview_profile(yard: Yard, order: PutProfile) -> ProfilePreview:
    """The tools it would offer, before it is written."""
    profile, relay = order.profile(), yard.part(Relay)
    # Every tool is looked at, so it is done beside the loop.
    return _preview(await asyncio.to_thread(_imagine, relay, yard.snapshot, profile))


def _row(profile: Profile) -> ProfileRow:
    fields = asdict(write_profile(profile))
    return ProfileRow(**fields, name=profile.name, path=f"/mcp/p/{profile.name}")


def _imagine(relay: Relay, snapshot: Snapshot, profile: Profile) -> View:
    """The view of a picture in which the profile stands."""
    state = SourceState(Report("preview", profiles=(profile,)))
    imagined = replace(snapshot, sources={**snapshot.sources, "preview": state})
    views = relay.views
    key = msgspec.structs.replace(views.usual_key, profile=profile.name)
    return make_view(imagined, key, None, views.own_offers)


def _preview(view: View) -> ProfilePreview:
    tools = [
        OfferedTool(name, route.alias, route.key)
        for name, route in view.tools.items()
        if route.server is not None
    ]
    listed = [modern for modern, _ in view.lists["tools"].items]
    return ProfilePreview(tools, len(listed), schema_tokens(listed))
