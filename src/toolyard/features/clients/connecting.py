"""The hub put into clients and taken out of them: the clients there are, and what to write."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from toolyard.core.endpoint import EndpointEntry
from toolyard.core.errors import ConfigError, ToolyardError
from toolyard.core.model import Command, Endpoint, Url
from toolyard.features.clients.change import Changes
from toolyard.features.clients.formats import read
from toolyard.features.clients.journal import Journal, Record
from toolyard.features.clients.known import CLIENTS, Client, find_client
from toolyard.features.clients.ours import (
    is_ours,
    own_address,
    own_command,
    own_entry,
    remote_command,
)
from toolyard.features.clients.places import (
    Place,
    Surroundings,
    is_installed,
    one_place,
    other_places,
)
from toolyard.features.clients.plan import ChangePlan, Way, read_file
from toolyard.features.tokens.model import PREFIX, AgentToken, hash_of, new_token
from toolyard.features.tokens.store import TokensFile
from toolyard.installation import NAME, fleeting_note
from toolyard.records.secrets.mask import HIDDEN
from toolyard.settings import Settings

FOLDER: Final = "clients"
"""Below our state: what was changed, and how to undo it."""


@dataclass(frozen=True, slots=True)
class ClientState:
    """One client, and its connection to the hub."""

    client: Client
    installed: bool
    path: Path
    how: str = ""
    """`stdio` or `http` if it is connected, with the agent or profile it is connected with."""
    problem: str = ""
    """The reason why its file cannot be used, or why it cannot start the hub."""


@dataclass(frozen=True, slots=True)
class ConnectOptions:
    """The way in which a client is to be connected."""

    project: Path | None = None
    http: bool = False
    agent: str = ""
    profile: str = ""
    hub: str = ""
    """The address of a hub elsewhere that the client gets instead of the one here."""
    replaced: tuple[Way, ...] = ()
    """The entries of its file that leave for the hub's."""
    keeps_entry: bool = False
    """It is connected, and stays so in the way it is."""
    beside: tuple[tuple[Place, tuple[Way, ...]], ...] = ()
    """The entries that leave other files of the client, which it reads as well."""


class Connecting:
    """Connects clients; `url` is where the hub listens, or would.

    A client that is connected by address has a token of its own, which works as long as its file
    holds it: `revoke` ends a token and what was opened with it.
    """

    def __init__(
        self,
        settings: Settings,
        around: Surroundings,
        url: str,
        tokens: TokensFile,
        revoke: Callable[[str], object],
    ) -> None:
        self.changes = Changes(Journal(settings.state_dir / FOLDER))
        self._settings = settings
        self._around = around
        self._url = url
        self._tokens = tokens
        self._revoke = revoke

    def rows(self, project: Path | None = None) -> list[ClientState]:
        """All clients that are known, in the user's files or those of a project."""
        clients = [client for client in CLIENTS if project is None or client.project]
        return [self._row(client, project) for client in clients]

    def _row(self, client: Client, project: Path | None) -> ClientState:
        place = one_place(client, self._around, project)
        installed = is_installed(client, self._around)
        try:
            endpoint = _own_entry(place, read_file(place))
            problem = _find_problem(client, endpoint)
            return ClientState(client, installed, place.path, _how(endpoint), problem)
        except ToolyardError as error:
            return ClientState(client, installed, place.path, problem=str(error))

    def place(self, name: str, project: Path | None = None) -> Place:
        """The file that would be changed for a client.

        Raises:
            UnknownNameError: There is no such client.
            NotOursError: It has no file for projects.
        """
        return one_place(find_client(name), self._around, project)

    def plan(self, name: str, options: ConnectOptions) -> ChangePlan:
        """Plan to connect a client; no token is made for that.

        Raises:
            ToolyardError: It cannot be connected; the message says why.
        """
        place = self.place(name, options.project)
        endpoint = None if options.keeps_entry else self._endpoint(place, options, HIDDEN)
        plan = self.changes.plan_connect(place, endpoint, options.replaced)
        beside = (self.changes.plan_connect(other, None, ways) for other, ways in options.beside)
        return replace(plan, beside=tuple(beside))

    def entry(self) -> EndpointEntry:
        """The entry for a client that is not known."""
        return own_entry(self._settings)

    def note(self, options: ConnectOptions) -> str:
        """A note about the entry that is written; empty if there is none."""
        return "" if options.http else fleeting_note()

    def connect(self, plan: ChangePlan, options: ConnectOptions) -> Record | None:
        """Connect a client as planned; None if there was nothing to do.

        Raises:
            ToolyardError: It could not be done; the file is as it was.
        """
        if options.keeps_entry:
            return self.changes.apply(plan)
        if not options.http or not plan.changes:
            return self._apply(plan, None)
        text = new_token()
        endpoint = self._endpoint(plan.place, options, text)
        final = self.changes.plan_connect(plan.place, endpoint, options.replaced)
        token = _token(plan.place.client.name, text, options.agent, options.profile)
        return self._apply(replace(plan, after=final.after), token)

    def plan_disconnect(self, name: str, project: Path | None = None) -> ChangePlan:
        """Plan to disconnect a client.

        Raises:
            ToolyardError: It cannot be disconnected; the message says why.
        """
        place = self.place(name, project)
        plan = self.changes.plan_disconnect(place)
        if not plan.changes:
            return plan
        others = other_places(place, self._around)
        return replace(plan, beside=tuple(map(self.changes.plan_return, others)))

    def disconnect(self, plan: ChangePlan) -> Record | None:
        """Disconnect a client as planned, and end its token; None if there was nothing to do.

        Raises:
            ToolyardError: It could not be done; the file is as it was.
        """
        return self._apply(plan, None)

    def undo(self, record: Record, plan: ChangePlan) -> str:
        """Undo a change as planned; the client's token is the one that its file then holds.

        Gives the name of the token that does not work any more, if any.

        Raises:
            ToolyardError: It could not be done; the file is as it was.
        """
        self.changes.undo(record, plan)
        if plan.place.project:
            return ""  # no token is ever written there
        held = _own_url(plan.place, plan.after)
        text = _bearer(held)
        name = token_name(record.client)
        live = self._tokens.get(name)
        is_stale = live is not None and live.digest != hash_of(text.encode())
        if is_stale:
            self._revoke(name)
        if held and record.ended == name and text.startswith(PREFIX):
            self._tokens.keep(_token(record.client, text, _agent(held), _profile(held)))
        return name if is_stale else ""

    def _apply(self, plan: ChangePlan, token: AgentToken | None) -> Record | None:
        """Make a change, after which `token` is the client's only one."""
        if plan.place.project:
            return self.changes.apply(plan)
        name = token_name(plan.place.client.name)
        old = self._tokens.get(name)
        text = _bearer(_own_url(plan.place, plan.before))
        is_held = old is not None and old.digest == hash_of(text.encode())
        if old:
            self._revoke(name)
        if token:
            self._tokens.keep(token)
        try:
            return self.changes.apply(replace(plan, ended=name if is_held else ""))
        except ToolyardError:
            if token:
                self._revoke(name)
            if old:
                self._tokens.keep(old)
            raise

    def _endpoint(self, place: Place, options: ConnectOptions, token: str) -> Endpoint:
        if options.hub:
            return remote_command(options.hub, options.profile)
        if not options.http:
            return own_command(self._settings, options.agent, options.profile)
        if options.project is not None:
            raise ConfigError(
                "a token does not belong into a project's file, which others read too",
                "leave --http or --project out",
            )
        return own_address(self._url, token, options.agent, options.profile)


def token_name(client: str) -> str:
    """The name of a client's token."""
    return f"client-{client}"


def _token(client: str, text: str, agent: str, profile: str) -> AgentToken:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    digest = hash_of(text.encode())
    return AgentToken(token_name(client), digest, profile=profile, created_at=now, agent=agent)


def _find_problem(client: Client, endpoint: Command | Url | None) -> str:
    """The reason why a client cannot start the hub; empty if it can."""
    program = endpoint.argv[0] if isinstance(endpoint, Command) else ""
    if not os.path.isabs(program) or os.access(program, os.X_OK):
        return ""
    return f"{client.title} starts the hub with '{program}', which is gone"


def _how(endpoint: Command | Url | None) -> str:
    if endpoint is None:
        return ""
    if isinstance(endpoint, Url):
        return _joined("http", _agent(endpoint), _profile(endpoint))
    flags = ("--agent", "--profile", "--hub")
    agent, profile, hub = (_value_of(endpoint.argv, flag) for flag in flags)
    return _joined(f"stdio to {hub}" if hub else "stdio", agent, profile)


def _joined(transport: str, agent: str, profile: str) -> str:
    told = f" as {agent}" if agent else f" with profile {profile}" if profile else ""
    return f"{transport}{told}"


def _value_of(words: tuple[str, ...], flag: str) -> str:
    return "".join(words[words.index(flag) + 1 :][:1]) if flag in words else ""


def _own_entry(place: Place, data: bytes | None) -> Command | Url | None:
    """Our entry in a client's file; None if it has none."""
    entries = read(place.client.shape, data).entries if data is not None else ()
    entry = next((entry for entry in entries if entry.name == NAME), None)
    return entry.endpoint if entry and is_ours(NAME, entry.endpoint) else None


def _own_url(place: Place, data: bytes | None) -> Url | None:
    endpoint = _own_entry(place, data)
    return endpoint if isinstance(endpoint, Url) else None


def _agent(url: Url) -> str:
    return url.url.partition("/mcp/a/")[2]


def _profile(url: Url) -> str:
    return url.url.partition("/mcp/p/")[2]


def _bearer(url: Url | None) -> str:
    """The token that an entry holds; empty if it holds none."""
    headers = {name.lower(): value for name, value in url.headers} if url else {}
    return headers.get("authorization", "").removeprefix("Bearer ")
