"""Plans a setup: which servers the hub takes, and what each client's file becomes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from toolyard.core.errors import ToolyardError
from toolyard.core.model import Problem
from toolyard.core.profiles import Profile
from toolyard.features.clients.connecting import ClientState, Connecting, ConnectOptions
from toolyard.features.clients.importing import (
    FoundServer,
    Gathered,
    Origin,
    places_of_projects,
    places_to_read,
)
from toolyard.features.clients.known import CLIENTS, Client
from toolyard.features.clients.places import Surroundings
from toolyard.features.clients.plan import ChangePlan
from toolyard.features.clients.replacing import find_lack, gather_with
from toolyard.features.profiles.store import ProfileRecords
from toolyard.features.secrets.moving import MovedSecrets, SecretMover
from toolyard.features.secrets.store import Secrets
from toolyard.features.servers.store import ServersFile
from toolyard.features.setup.model import ServerAction
from toolyard.features.setup.restrictions import plan_profile
from toolyard.records.secrets.secret_files import SecretPlace
from toolyard.yard import Yard


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The servers and clients that the user leaves as they are, by name."""

    servers: Collection[str] = ()
    clients: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class PlannedServer:
    """A server of clients, and what becomes of it."""

    server: FoundServer
    action: ServerAction
    reason: str = ""
    moved: MovedSecrets | None = None

    @property
    def name(self) -> str:
        """Its name in the yard."""
        return self.server.present or self.server.name


@dataclass(frozen=True, slots=True)
class PlannedClient:
    """A client, and the change of its file."""

    state: ClientState
    options: ConnectOptions
    change: ChangePlan | None = None
    profile: Profile | None = None
    stays: tuple[str, ...] = ()
    is_left: bool = False
    """Its file is not changed, by the user's choice or because there is nothing to gain."""
    error: ToolyardError | None = None


@dataclass(frozen=True, slots=True)
class Planned:
    """All that a setup would do."""

    servers: tuple[PlannedServer, ...]
    clients: tuple[PlannedClient, ...]
    problems: tuple[Problem, ...]
    secrets_in: SecretPlace


def plan_setup(yard: Yard, connecting: Connecting, project: Path | None, left: LeftOut) -> Planned:
    """Look at all files, and decide; nothing is changed. It blocks."""
    around = Surroundings.here()
    gathered = _gather(yard, around, project)
    servers = tuple(_decide(gathered, yard, left.servers))
    states = [state for state in connecting.rows() if state.installed]
    place = yard.part(Secrets).place_of_new()
    if not servers and not yard.part(ServersFile).load().servers:
        return Planned((), tuple(map(_leave_client, states)), gathered.problems, place)
    profiles = yard.part(ProfileRecords).read().values
    clients = [
        _leave_client(state, servers)
        if state.client.name in left.clients
        else _plan_client(connecting, state, servers, profiles)
        for state in states
    ]
    return Planned(servers, tuple(clients), gathered.problems, place)


def _gather(yard: Yard, around: Surroundings, project: Path | None) -> Gathered:
    places = places_to_read(CLIENTS, around, project)
    more = [place for place in places_of_projects(CLIENTS, around) if place not in places]
    return gather_with(yard, [*places, *more])


def _decide(gathered: Gathered, yard: Yard, left: Collection[str]) -> Iterator[PlannedServer]:
    mover = SecretMover(yard.part(Secrets))
    for server in gathered.servers:
        lack = find_lack(yard, server) if server.present else ""
        choice = "you left it out" if (server.present or server.name) in left else ""
        if reason := _find_obstacle(server) or lack or choice:
            yield PlannedServer(server, "leave", reason)
        elif server.present:
            yield PlannedServer(server, "present")
        else:
            moved = mover.move_out(server.name, server.endpoint)
            yield PlannedServer(server, "take", moved=moved)


def _find_obstacle(server: FoundServer) -> str:
    """The reason why a server has to stay where it is; empty if there is none."""
    if server.is_shared:
        return f"others use the file of the project {', '.join(server.projects)} too"
    if len(server.projects) > 1:
        return f"it is for the projects {', '.join(server.projects)} alone"
    lost = [part for part in server.untaken if part.opens and part.tools is None]
    if lost:
        keys = ", ".join(f"{part.key} ({part.client})" for part in lost)
        return f"the hub cannot keep its restriction by {keys}"
    return ""


def _plan_client(
    connecting: Connecting,
    state: ClientState,
    servers: Sequence[PlannedServer],
    profiles: Mapping[str, Profile],
) -> PlannedClient:
    client = state.client
    going = [planned for planned in servers if planned.action != "leave"]
    hidden = plan_profile(client, [(planned.name, planned.server) for planned in going], profiles)
    if state.how:  # it is connected, in a way that somebody chose
        going = [planned for planned in going if not _is_restricted(planned.server, client.name)]
        hidden = None
    leaving = [origin for planned in going for origin in _own_origins(planned, client)]
    stays = [
        origin.name
        for planned in servers
        for origin in _own_origins(planned, client)
        if origin not in leaving
    ]
    others = {o.place.path: o.place for o in leaving if o.place.path != state.path}
    options = ConnectOptions(
        profile=hidden.name if hidden else "",
        replaced=tuple(o.way for o in leaving if o.place.path == state.path),
        keeps_entry=bool(state.how),
        beside=tuple(
            (other, tuple(o.way for o in leaving if o.place == other)) for other in others.values()
        ),
    )
    planned_client = PlannedClient(state, options, profile=hidden, stays=tuple(stays))
    try:
        return replace(planned_client, change=connecting.plan(client.name, options))
    except ToolyardError as error:
        return replace(planned_client, error=error)


def _leave_client(state: ClientState, servers: Sequence[PlannedServer] = ()) -> PlannedClient:
    stays = [o.name for planned in servers for o in _own_origins(planned, state.client)]
    return PlannedClient(state, ConnectOptions(), stays=tuple(stays), is_left=True)


def _own_origins(planned: PlannedServer, client: Client) -> list[Origin]:
    """The entries of a server in the files of a client that are its user's alone."""
    origins = planned.server.origins
    return [o for o in origins if o.place.client == client and not o.place.is_shared]


def _is_restricted(server: FoundServer, client: str) -> bool:
    return any(part.opens and part.client == client for part in server.untaken)
