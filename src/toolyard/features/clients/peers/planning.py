"""The plan of an import from another hub: servers and profiles with names that are free here."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from toolyard.core.endpoint import Endpoint
from toolyard.core.errors import ConfigError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Problem
from toolyard.core.profiles import Profile
from toolyard.features.clients.importing import Settle, as_it_is, find_settled, what_it_runs
from toolyard.features.clients.peers.model import (
    UNFILTERED,
    PeerFile,
    PeerFilter,
    PeerProfile,
    PeerServer,
)
from toolyard.features.clients.untaken import Untaken
from toolyard.features.profiles.model import read_profile

NAME_LONGEST: Final = 64
_ODD: Final = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class ImportedServer:
    """A server under the name that it has here, or will have."""

    name: str
    server: PeerServer
    is_present: bool = False


@dataclass(frozen=True, slots=True)
class ImportedProfile:
    """A profile under the name that it has here, or will have."""

    profile: Profile
    is_present: bool = False


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """All that an import would do, and what it would leave out."""

    servers: tuple[ImportedServer, ...]
    profiles: tuple[ImportedProfile, ...]
    untaken: tuple[Untaken, ...]
    problems: tuple[Problem, ...]

    @property
    def is_done(self) -> bool:
        """True if all of it is in the yard already."""
        is_known = [server.is_present for server in self.servers]
        return all(is_known + [profile.is_present for profile in self.profiles])


def plan_import(
    hub: str,
    files: Sequence[PeerFile],
    endpoints: Mapping[str, Endpoint],
    profiles: Mapping[str, Profile],
    settle: Settle = as_it_is,
) -> ImportPlan:
    """Make the plan; `endpoints` and `profiles` are those of the yard, by name.

    What the yard has is found although its secrets have moved, as `settle` moves them.
    """
    servers = tuple(_servers(hub, files, endpoints, settle))
    here = {planned.server.name: planned.name for planned in servers}
    filters = {planned.server.name: planned.server.filter for planned in servers}
    selections = _selections(files)
    if any(shown != UNFILTERED for shown in filters.values()):
        everything = tuple((name, UNFILTERED) for name in filters)
        selections.append(PeerProfile(hub, everything, f"All servers of {hub}, as it showed them"))
    untaken = [lost for file in files for lost in file.untaken]
    planned_profiles: list[ImportedProfile] = []
    taken = dict(profiles)
    for selection in selections:
        planned = _profile(hub, selection, here, filters, taken, untaken)
        if planned is not None:
            taken[planned.profile.name] = planned.profile
            planned_profiles.append(planned)
    problems = tuple(problem for file in files for problem in file.problems)
    return ImportPlan(servers, tuple(planned_profiles), tuple(dict.fromkeys(untaken)), problems)


def _servers(
    hub: str, files: Sequence[PeerFile], endpoints: Mapping[str, Endpoint], settle: Settle
) -> Iterator[ImportedServer]:
    """Each server once; what runs the same as another is that other."""
    names = {what_it_runs(endpoint): name for name, endpoint in endpoints.items()}
    taken = {name.lower() for name in endpoints}
    for server in (server for file in files for server in file.servers):
        key = what_it_runs(server.written.endpoint)
        if name := find_settled(server.written.endpoint, endpoints, settle):
            names[key] = name
        is_present = key in names
        if not is_present:
            names[key] = _free(server.name, "server", hub, taken)
            taken.add(names[key].lower())
        yield ImportedServer(names[key], server, is_present)


def _selections(files: Sequence[PeerFile]) -> list[PeerProfile]:
    """The selections of all files; those with the same name are one."""
    merged: dict[str, PeerProfile] = {}
    for selection in (profile for file in files for profile in file.profiles):
        first = merged.get(selection.name)
        members = (*first.members, *selection.members) if first else selection.members
        merged[selection.name] = replace(first or selection, members=members)
    return list(merged.values())


def _profile(
    hub: str,
    selection: PeerProfile,
    here: Mapping[str, str],
    filters: Mapping[str, PeerFilter],
    taken: Mapping[str, Profile],
    untaken: list[Untaken],
) -> ImportedProfile | None:
    members = {}
    for server, shown in selection.members:
        if server in here:
            members[here[server]] = shown.within(filters[server])
        else:
            untaken.append(Untaken(f"{server} in {selection.name}"))
    fields = _fields(selection.title, members)
    if not fields["allow"]:
        # An empty list would show everything.
        untaken.append(Untaken(f"{selection.name} (it shows nothing)"))
        return None
    wanted = _clean(selection.name, "profile")
    profile = _read(wanted, fields, untaken)
    same = [name for name, other in taken.items() if replace(other, name=wanted) == profile]
    if same:
        return ImportedProfile(taken[same[0]], is_present=True)
    name = _free(selection.name, "profile", hub, {other.lower() for other in taken})
    return ImportedProfile(replace(profile, name=name))


def _fields(title: str, members: Mapping[str, PeerFilter]) -> JsonObject:
    allow: list[str] = []
    for name, shown in members.items():
        allow += [name] if shown.only is None else [f"{name}/{tool}" for tool in shown.only]
    return {
        "title": title,
        "allow": allow,
        "hide": [f"{name}/{tool}" for name, shown in members.items() for tool in shown.hide],
        "rename": _by_tool({name: shown.rename for name, shown in members.items()}),
        "describe": _by_tool({name: shown.describe for name, shown in members.items()}),
    }


def _by_tool(changes: Mapping[str, Iterable[tuple[str, str]]]) -> dict[str, str]:
    return {
        f"{name}/{tool}": text for name, pairs in changes.items() for tool, text in pairs if text
    }


def _read(name: str, fields: JsonObject, untaken: list[Untaken]) -> Profile:
    """The profile; without other names for tools if these cannot be used here."""
    try:
        return read_profile(name, fields)
    except ConfigError as error:
        untaken.append(Untaken(f"names of tools in {name} ({error})"))
        return read_profile(name, {**fields, "rename": {}, "describe": {}})


def _free(name: str, default: str, hub: str, taken: Container[str]) -> str:
    clean = _clean(name, default)
    tries = [clean, f"{clean[:40]}-{hub}", *(f"{clean[:60]}-{number}" for number in range(2, 1000))]
    return next(name for name in tries if name.lower() not in taken)


def _clean(name: str, default: str) -> str:
    return _ODD.sub("-", name).strip("-.")[:NAME_LONGEST] or default
