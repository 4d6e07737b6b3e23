"""The servers of clients' files that the yard has too, so that the hub can take their place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from toolyard.features.clients.importing import (
    FoundServer,
    Gathered,
    gather,
    places_of_projects,
)
from toolyard.features.clients.places import Place, Surroundings, other_places
from toolyard.features.clients.plan import Way
from toolyard.features.secrets.moving import SecretMover
from toolyard.features.secrets.store import Secrets
from toolyard.features.servers.store import ServersFile
from toolyard.yard import Yard


@dataclass(frozen=True, slots=True)
class Replaceable:
    """The entries of a file that the hub can stand for, and those it cannot."""

    ways: tuple[Way, ...] = ()
    beside: tuple[tuple[Place, tuple[Way, ...]], ...] = ()
    """Those of other files that the client reads as well."""
    restricted: tuple[str, ...] = ()
    """Servers that the client restricts, so that they stay."""

    @property
    def note(self) -> str:
        """A sentence about those that stay; empty if none does."""
        if not self.restricted:
            return ""
        names = ", ".join(self.restricted)
        return f"the client restricts {names}, which stays; toolyard setup keeps restrictions"


def gather_with(yard: Yard, places: list[Place]) -> Gathered:
    """Read files, and tell which of their servers the yard has."""
    mover = SecretMover(yard.part(Secrets))
    loaded = yard.part(ServersFile).load().servers
    present = {server.id.name: server.endpoint for server in loaded}
    return gather(places, present, mover.find_moved)


def find_replaceable(yard: Yard, place: Place, around: Surroundings) -> Replaceable:
    """Find the entries of a file whose servers the yard has, and runs where the client would."""
    others = [other for other in other_places(place, around) if other.path.is_file()]
    more = [] if place.project else places_of_projects([place.client], around)
    ways: dict[Path, list[Way]] = {file.path: [] for file in (place, *others)}
    restricted: list[str] = []
    for server in gather_with(yard, [place, *others, *more]).servers:
        if not server.present or find_lack(yard, server):
            continue
        if server.opens:
            restricted.append(server.name)
        else:
            for origin in server.origins:
                ways[origin.place.path].append(origin.way)
    beside = tuple((other, tuple(ways[other.path])) for other in others)
    return Replaceable(tuple(ways[place.path]), beside, tuple(restricted))


def find_lack(yard: Yard, server: FoundServer) -> str:
    """The reason why the yard's own does not stand for a server; empty if it does."""
    loaded = yard.part(ServersFile).load().servers
    present = next((own for own in loaded if own.id.name == server.present), None)
    if present is None or (server.enabled and not present.enabled):
        return f"the hub has it as '{server.present}', which is disabled"
    if present.project and server.projects != (present.project,):
        return f"the hub has it as '{server.present}' for the project {present.project} alone"
    return ""
