"""The hub put into clients and taken out of them: the clients there are, and what to write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from toolyard.core.errors import ConfigError, ToolyardError
from toolyard.core.model import Command, Endpoint, Url
from toolyard.features.clients.change import Changes
from toolyard.features.clients.formats import read
from toolyard.features.clients.journal import Journal, Record
from toolyard.features.clients.known import CLIENTS, Client, find_client
from toolyard.features.clients.ours import is_ours, own_address, own_command, own_entry
from toolyard.features.clients.places import Place, Surroundings, is_installed, one_place
from toolyard.features.clients.plan import ChangePlan, read_file
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
    """`stdio` or `http` if it is connected, with the agent it is connected as."""
    problem: str = ""
    """The reason why its file cannot be used."""


@dataclass(frozen=True, slots=True)
class ConnectOptions:
    """The way in which a client is to be connected."""

    project: Path | None = None
    http: bool = False
    agent: str = ""


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
            return ClientState(client, installed, place.path, _how(place))
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
        return self.changes.plan_connect(place, self._endpoint(place, options, HIDDEN))

    def entry(self) -> dict[str, Any]:
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
        if not options.http or not plan.changes:
            return self._apply(plan, None)
        text = new_token()
        final = self.changes.plan_connect(plan.place, self._endpoint(plan.place, options, text))
        token = _token(plan.place.client.name, text, options.agent)
        return self._apply(replace(plan, after=final.after), token)

    def plan_disconnect(self, name: str, project: Path | None = None) -> ChangePlan:
        """Plan to disconnect a client.

        Raises:
            ToolyardError: It cannot be disconnected; the message says why.
        """
        return self.changes.plan_disconnect(self.place(name, project))

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
            self._tokens.keep(_token(record.client, text, _agent(held)))
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
        if not options.http:
            return own_command(self._settings, options.agent)
        if options.project is not None:
            raise ConfigError(
                "a token does not belong into a project's file, which others read too",
                "leave --http or --project out",
            )
        return own_address(self._url, token, options.agent)


def token_name(client: str) -> str:
    """The name of a client's token."""
    return f"client-{client}"


def _token(client: str, text: str, agent: str) -> AgentToken:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    digest = hash_of(text.encode())
    return AgentToken(token_name(client), digest, created_at=now, agent=agent)


def _how(place: Place) -> str:
    endpoint = _own_entry(place, read_file(place))
    if endpoint is None:
        return ""
    if isinstance(endpoint, Url):
        return " as ".join(filter(None, ("http", _agent(endpoint))))
    words = endpoint.argv
    agent = words[words.index("--agent") + 1 :][:1] if "--agent" in words else ()
    return " as ".join(("stdio", *agent))


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


def _bearer(url: Url | None) -> str:
    """The token that an entry holds; empty if it holds none."""
    headers = {name.lower(): value for name, value in url.headers} if url else {}
    return headers.get("authorization", "").removeprefix("Bearer ")
