"""The places of clients' files on this machine, and the clients that are here."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from toolyard.core.errors import ConfigError, NotOursError
from toolyard.features.clients.known import Client
from toolyard.records.files import read_bounded
from toolyard.records.jsonc import parse

LARGEST: Final = 32 * 1024 * 1024
"""Bytes; some clients keep much else in the same file."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """All that decides where files are: the environment, the home directory and the system."""

    env: Mapping[str, str] = field(repr=False)
    home: Path
    platform: str = sys.platform

    @classmethod
    def here(cls) -> Surroundings:
        """Those of this process."""
        return cls(dict(os.environ), Path(os.path.expanduser("~")))

    def named(self, variable: str) -> Path | None:
        """The folder that a variable names; blank counts as unset."""
        folder = self.env.get(variable, "").strip()
        return Path(os.path.abspath(os.path.join(self.home, folder))) if folder else None

    def folder(self, client: Client) -> tuple[Path, str]:
        """The folder a client's files are below, and the way from there."""
        if client.folder == "home":
            return self.home, ""
        if client.folder != "config" and self.platform == "darwin":
            return self.home, "Library/Application Support"
        moved = self.named("XDG_CONFIG_HOME")
        return (moved, "") if moved else (self.home, ".config")


@dataclass(frozen=True, slots=True)
class Place:
    """One file of a client: for the user, or in a project."""

    client: Client
    base: Path
    """The folder above which links are the user's business."""
    path: Path
    project: str = ""
    """The project it is for; empty for the user's own file."""
    keys: tuple[str, ...] = ()
    """The way to the servers within the file, if not the usual key."""

    @property
    def is_shared(self) -> bool:
        """True if it lies in a project, so that others may have written it."""
        return bool(self.project) and not self.keys


def user_places(client: Client, around: Surroundings) -> list[Place]:
    """All files of a client for the user: those there, or the one it would make."""
    moved = around.named(client.moved[0]) if client.moved else None
    if client.moved and moved:
        return [Place(client, moved, moved / client.moved[1])]
    base, way = around.folder(client)
    return _existing([Place(client, base, base / way / file) for file in client.files])


def project_places(client: Client, around: Surroundings, project: Path) -> list[Place]:
    """All files of a client for a project; empty if it has no such thing."""
    places = [Place(client, project, project / file, str(project)) for file in client.project]
    return _existing(places)


def local_places(client: Client, around: Surroundings, project: Path) -> list[Place]:
    """The part of the user's own file that is for one project alone."""
    if not client.local:
        return []
    keys = ("projects", str(project), client.shape.top)
    own = user_places(client, around)[0]
    return [Place(client, own.base, own.path, str(project), keys)]


def projects_in(client: Client, around: Surroundings) -> list[Path]:
    """The projects for which the user's own file of a client has servers.

    Raises:
        ConfigError: The file cannot be read as JSON.
        StoreError: It cannot be read.
    """
    if not client.local:
        return []
    try:
        root = parse(read_bounded(user_places(client, around)[0].path, LARGEST)).root
    except FileNotFoundError:
        return []
    projects = root.member("projects") if root and root.kind == "object" else None
    members = projects.node.members if projects else ()
    tables = {member.key: member.node.member(client.shape.top) for member in members}
    return [Path(project) for project, table in tables.items() if table and table.node.members]


def one_place(client: Client, around: Surroundings, project: Path | None = None) -> Place:
    """The file to write to.

    Raises:
        NotOursError: The client has no file for projects.
    """
    if project is None:
        return user_places(client, around)[0]
    places = project_places(client, around, project)
    if not places:
        raise NotOursError(
            f"{client.title} has no file for projects", "connect it for the user, without --project"
        )
    return places[0]


def other_places(place: Place, around: Surroundings) -> list[Place]:
    """The other files of a client that it reads together with this one."""
    project = Path(place.project) if place.is_shared else None
    client = place.client
    places = project_places(client, around, project) if project else user_places(client, around)
    return [other for other in places if other.path != place.path]


def is_installed(client: Client, around: Surroundings) -> bool:
    """Return whether the client seems to be here: its file, its folder, or its program."""
    for place in user_places(client, around):
        if place.path.exists() or (place.path.parent != place.base and place.path.parent.is_dir()):
            return True
    if any((around.home / mark).is_dir() for mark in client.marks):
        return True
    path = around.env.get("PATH", "")
    return any(shutil.which(program, path=path) for program in client.programs)


def refuse_links(place: Place) -> None:
    """Make sure that no link leads from the base to the file.

    Raises:
        ConfigError: One does, or what is there is no file.
    """
    inside = place.path.relative_to(place.base).parts
    for count in range(1, len(inside) + 1):
        step = place.base.joinpath(*inside[:count])
        try:
            mode = step.lstat().st_mode
        except OSError:
            return  # not there, or for reading it to say
        if stat.S_ISLNK(mode):
            raise ConfigError(
                f"'{step}' is a symbolic link, and nothing is written through one",
                f"put what it points to in its place, or change '{place.path}' by hand",
            )
    if not stat.S_ISREG(mode):
        raise ConfigError(f"'{place.path}' is not a regular file", "move it away")


def project_folder(project: str) -> Path | None:
    """The folder of a project that an order names; None if it names none.

    Raises:
        ConfigError: There is no such folder.
    """
    if not project:
        return None
    if not os.path.isabs(project) or not os.path.isdir(project):
        raise ConfigError(f"there is no folder {project[:200]!r}", "give its absolute path")
    return Path(project)


def _existing(places: list[Place]) -> list[Place]:
    return [place for place in places if os.path.lexists(place.path)] or places[:1]
