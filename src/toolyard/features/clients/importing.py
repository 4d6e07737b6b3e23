"""The servers of clients that the yard has not: read, merged by what they run, and named."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from toolyard.core.endpoint import (
    Command,
    Endpoint,
    Url,
    change_texts,
    fingerprint,
    write_endpoint,
)
from toolyard.core.endpoint_fields import write_timeout
from toolyard.core.errors import ToolyardError
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Problem
from toolyard.core.problems import ProblemCode
from toolyard.features.clients.env_files import with_env_file
from toolyard.features.clients.formats import read
from toolyard.features.clients.known import Client
from toolyard.features.clients.ours import is_ours
from toolyard.features.clients.places import (
    LARGEST,
    Place,
    Surroundings,
    local_places,
    project_places,
    projects_in,
    user_places,
)
from toolyard.features.clients.plan import Way
from toolyard.features.clients.shapes import ClientEntry
from toolyard.features.clients.untaken import Untaken
from toolyard.features.secrets.moving import shape_of
from toolyard.records.files import read_bounded

NAME_LONGEST: Final = 64
_ODD: Final = re.compile(r"[^A-Za-z0-9_.-]+")
_WORKSPACE: Final = "${workspaceFolder}"
Settle = Callable[[str, Endpoint], Endpoint]
"""Gives the endpoint of a server as the yard would have it under that name."""


def as_it_is(_name: str, endpoint: Endpoint) -> Endpoint:
    """Give the endpoint unchanged, where no secrets move."""
    return endpoint


@dataclass(frozen=True, slots=True)
class Origin:
    """One entry of a client's file."""

    place: Place
    name: str
    enabled: bool = True

    @property
    def way(self) -> Way:
        """The keys that lead to it."""
        return (*(self.place.keys or (self.place.client.shape.top,)), self.name)


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A server that clients have; `places` are the files that name it."""

    name: str
    endpoint: Endpoint
    enabled: bool
    places: tuple[Place, ...]
    present: str = ""
    """The name under which the yard has it already."""
    title: str = ""
    timeout: float | None = None
    untaken: tuple[Untaken, ...] = ()
    """The parts of these files about it that are not taken over."""
    origins: tuple[Origin, ...] = ()
    """Every entry that declares it."""

    @property
    def opens(self) -> bool:
        """True if a client had restricted it in a way that is lost."""
        return any(lost.opens for lost in self.untaken)

    @property
    def is_shared(self) -> bool:
        """True if only files of projects name it, which others may have written."""
        return all(place.is_shared for place in self.places)

    @property
    def projects(self) -> tuple[str, ...]:
        """The projects it is for; empty if it is for all that its user does."""
        projects = tuple(dict.fromkeys(place.project for place in self.places))
        return projects if all(projects) else ()

    def entry(self) -> JsonObject:
        """It as an entry of the servers file."""
        more = {
            "timeout": write_timeout(self.timeout) if self.timeout else None,
            "title": self.title,
            "disabled": not self.enabled,
            "project": self.projects[0] if len(self.projects) == 1 else "",
        }
        more = {key: value for key, value in more.items() if value}
        return write_endpoint(self.endpoint) | more


@dataclass(frozen=True, slots=True)
class Gathered:
    """The servers of all files, and what could not be read."""

    servers: tuple[FoundServer, ...]
    problems: tuple[Problem, ...]


def places_to_read(
    clients: Iterable[Client], around: Surroundings, project: Path | None
) -> list[Place]:
    """The files of clients that are there: for the user, and for a project if one is named."""
    places: list[Place] = []
    for client in clients:
        places += user_places(client, around)
        if project is not None:
            places += local_places(client, around, project)
            places += project_places(client, around, project)
    return [place for place in places if place.path.is_file()]


def places_of_projects(clients: Iterable[Client], around: Surroundings) -> list[Place]:
    """The parts of the user's own files that are each for one project."""
    places: list[Place] = []
    for client in clients:
        try:
            projects = projects_in(client, around)
        except (OSError, ToolyardError):
            continue  # whoever reads the file itself names the problem
        for project in projects:
            places += local_places(client, around, project)
    return places


def gather(
    places: Sequence[Place], present: Mapping[str, Endpoint], settle: Settle = as_it_is
) -> Gathered:
    """Read the files, and merge what runs the same; `present` is what the yard has, by name."""
    merged: dict[str, FoundServer] = {}
    problems: list[Problem] = []
    for place in places:
        entries, trouble = _read(place)
        problems += trouble
        for entry in entries:
            _merge(merged, entry, place)
    return Gathered(tuple(_named(merged, present, settle)), tuple(problems))


def _read(place: Place) -> tuple[list[ClientEntry], list[Problem]]:
    try:
        file = read(place.client.shape, read_bounded(place.path, LARGEST), place.keys)
    except (OSError, ToolyardError) as error:
        text = f"'{place.path}' cannot be read: {error}"
        hint = getattr(error, "hint", "") or "correct the file"
        return [], [Problem(ProblemCode.CLIENT_FILE, text, hint, str(place.path))]
    problems = [
        replace(
            problem,
            text=f"'{place.path}' {problem.subject}: {problem.text}",
            subject=str(place.path),
        )
        for problem in file.problems
    ]
    others = [entry for entry in file.entries if not is_ours(entry.name, entry.endpoint)]
    entries = [with_env_file(entry, place) for entry in others]
    return [replace(entry, endpoint=_settled(entry.endpoint, place)) for entry in entries], problems


def _settled(endpoint: Endpoint, place: Place) -> Endpoint:
    """The endpoint of a project, written so that it means the same from anywhere."""
    if not place.project:
        return endpoint
    endpoint = change_texts(endpoint, lambda text: text.replace(_WORKSPACE, place.project))
    if isinstance(endpoint, Command):
        cwd = os.path.join(place.project, endpoint.cwd) if endpoint.cwd else place.project
        return replace(endpoint, cwd=cwd)
    return endpoint


def _merge(merged: dict[str, FoundServer], entry: ClientEntry, place: Place) -> None:
    key = what_it_runs(entry.endpoint)
    client = place.client.name
    new = FoundServer(
        entry.name,
        entry.endpoint,
        entry.enabled,
        (place,),
        title=entry.title,
        timeout=entry.timeout,
        untaken=tuple(replace(lost, client=client) for lost in entry.untaken),
        origins=(Origin(place, entry.name, entry.enabled),),
    )
    merged[key] = _joined(merged[key], new) if key in merged else new


def _joined(first: FoundServer, second: FoundServer) -> FoundServer:
    """One server that two files have: as open and as patient as either of them needs."""
    new_places = tuple(place for place in second.places if place not in first.places)
    return replace(
        first,
        enabled=first.enabled or second.enabled,
        places=first.places + new_places,
        title=first.title or second.title,
        timeout=max(filter(None, (first.timeout, second.timeout)), default=None),
        untaken=tuple(dict.fromkeys((*first.untaken, *second.untaken))),
        origins=first.origins + second.origins,
    )


def what_it_runs(endpoint: Endpoint) -> str:
    """Return a mark that is the same for servers that run the same, whatever they are called."""
    if isinstance(endpoint, Command):
        cwd = os.path.normpath(endpoint.cwd) if endpoint.cwd else None
        return fingerprint(Command(endpoint.argv, tuple(sorted(endpoint.env)), cwd))
    # Another account at the same address is another server; how it is spoken to is found out.
    headers = sorted((name.lower(), value) for name, value in endpoint.headers)
    return fingerprint(Url(endpoint.url, headers=tuple(headers)))


def _named(
    merged: Mapping[str, FoundServer], present: Mapping[str, Endpoint], settle: Settle
) -> Iterable[FoundServer]:
    """Each with a name that is free; what the yard has already says so."""
    has = {what_it_runs(endpoint): name for name, endpoint in present.items()}
    taken = {name.lower() for name in present}
    for key, server in merged.items():
        if name := has.get(key) or find_settled(server.endpoint, present, settle):
            yield replace(server, present=name)
            continue
        name = _free(server, taken)
        taken.add(name.lower())
        yield replace(server, name=name)


def find_settled(endpoint: Endpoint, present: Mapping[str, Endpoint], settle: Settle) -> str:
    """The name under which the yard has the same with its secrets moved out."""
    shape = what_it_runs(shape_of(endpoint))
    for name, candidate in present.items():
        if what_it_runs(shape_of(candidate)) == shape:
            settled = settle(name, endpoint)
            if what_it_runs(settled) == what_it_runs(candidate):
                return name
    return ""


def _free(server: FoundServer, taken: set[str]) -> str:
    name = _ODD.sub("-", server.name).strip("-")[:NAME_LONGEST] or "server"
    tries = [name, f"{name[:40]}-{server.places[0].client.name}"]
    tries += [f"{name[:60]}-{number}" for number in range(2, len(taken) + 3)]
    return next(name for name in tries if name.lower() not in taken)
