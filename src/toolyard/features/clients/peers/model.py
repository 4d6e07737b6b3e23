"""The servers and profiles of another hub's file, whatever its format."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from toolyard.core.endpoint import Endpoint, Pairs, write_endpoint
from toolyard.core.endpoint_fields import write_timeout
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Problem
from toolyard.core.server_entries import WrittenServer
from toolyard.core.sites import write_placement
from toolyard.features.clients.untaken import Untaken
from toolyard.records.secrets.expand import find_secrets


@dataclass(frozen=True, slots=True)
class PeerFilter:
    """The tools of one server that are shown, and how; `only` and `hide` are patterns."""

    only: tuple[str, ...] | None = None
    """All of them if None."""
    hide: tuple[str, ...] = ()
    rename: Pairs = ()
    describe: Pairs = ()

    def within(self, other: PeerFilter) -> PeerFilter:
        """Return the filter that lets through what both let through."""
        lists = [only for only in (self.only, other.only) if only is not None]
        only = tuple(tool for tool in lists[0] if tool in lists[-1]) if lists else None
        return PeerFilter(
            only,
            tuple(dict.fromkeys((*self.hide, *other.hide))),
            tuple(dict((*other.rename, *self.rename)).items()),
            tuple(dict((*other.describe, *self.describe)).items()),
        )


UNFILTERED: Final = PeerFilter()


@dataclass(frozen=True, slots=True)
class PeerServer:
    """A server of another hub."""

    name: str
    written: WrittenServer
    """The same server in the words of our own file."""
    filter: PeerFilter = UNFILTERED
    tags: tuple[str, ...] = ()
    untaken: tuple[Untaken, ...] = ()

    @property
    def opens(self) -> bool:
        """True if it was restricted there in a way that is lost here."""
        return any(lost.opens for lost in self.untaken)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the secrets it refers to; their values stay with the other hub."""
        keys = find_secrets(self.written.endpoint)
        return tuple(key.removeprefix("keyring:") for key in keys if key.startswith("keyring:"))

    def moved_to(self, endpoint: Endpoint) -> PeerServer:
        """Return the same server with another endpoint: that without its secrets."""
        return replace(self, written=replace(self.written, endpoint=endpoint))

    def entry(self) -> JsonObject:
        """It as an entry of the servers file."""
        written = self.written
        more: JsonObject = {
            "timeout": write_timeout(written.timeout) if written.timeout else None,
            "title": written.title,
            "disabled": not written.enabled,
            "executor": write_placement(written.placement),
            "project": written.project,
        }
        return dict(write_endpoint(written.endpoint)) | {k: v for k, v in more.items() if v}


@dataclass(frozen=True, slots=True)
class PeerProfile:
    """A selection of servers that has a name there: a group, a tag, a preset, a profile."""

    name: str
    members: tuple[tuple[str, PeerFilter], ...]
    """The servers by their names there, each with what is shown of it."""
    title: str = ""


@dataclass(frozen=True, slots=True)
class PeerFile:
    """All that was understood of a hub's file, and the names of what was not taken."""

    servers: tuple[PeerServer, ...] = ()
    profiles: tuple[PeerProfile, ...] = ()
    untaken: tuple[Untaken, ...] = ()
    """Parts of the file that are about no single server."""
    problems: tuple[Problem, ...] = ()
