"""The hub put into clients and taken out of them, for any door: who is there, and what to write."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolyard.clients.change import Changes, Plan, read_file
from toolyard.clients.formats import read
from toolyard.clients.journal import Journal, Record
from toolyard.clients.known import CLIENTS, Client, find_client
from toolyard.clients.ours import NAME, is_ours, own_address, own_command
from toolyard.clients.places import Place, Surroundings, is_installed, one_place
from toolyard.core.errors import ConfigError, ToolyardError, UnknownNameError
from toolyard.core.model import Command, Endpoint
from toolyard.settings import Settings
from toolyard.stores.mask import HIDDEN
from toolyard.stores.tokens import TokensFile

FOLDER: Final = "clients"
"""Below our state: what was changed, and how to undo it."""


@dataclass(frozen=True, slots=True)
class Row:
    """How one client stands to the hub."""

    client: Client
    installed: bool
    path: Path
    how: str = ""
    """`stdio` or `http` if it is connected, with the agent it is connected as."""
    problem: str = ""
    """Why its file cannot be used."""


@dataclass(frozen=True, slots=True)
class Wish:
    """How a client is to be connected."""

    project: Path | None = None
    http: bool = False
    agent: str = ""


class Connecting:
    """Connects clients; `url` is where the hub listens, or would."""

    def __init__(
        self, settings: Settings, around: Surroundings, url: str, tokens: TokensFile
    ) -> None:
        self.changes = Changes(Journal(settings.state_dir / FOLDER))
        self._settings = settings
        self._around = around
        self._url = url
        self._tokens = tokens

    def rows(self, project: Path | None = None) -> list[Row]:
        """All clients that are known, in the user's files or those of a project."""
        every = [each for each in CLIENTS if project is None or each.project]
        return [self._row(each, project) for each in every]

    def installed(self) -> list[str]:
        """The names of the clients that seem to be here."""
        return [each.name for each in CLIENTS if is_installed(each, self._around)]

    def _row(self, client: Client, project: Path | None) -> Row:
        place = one_place(client, self._around, project)
        installed = is_installed(client, self._around)
        try:
            return Row(client, installed, place.path, _how(place))
        except ToolyardError as error:
            return Row(client, installed, place.path, problem=str(error))

    def place(self, name: str, project: Path | None = None) -> Place:
        """The file that would be changed for a client.

        Raises:
            UnknownNameError: There is no such client.
            NotOursError: It has no file for projects.
        """
        return one_place(find_client(name), self._around, project)

    def plan(self, name: str, wish: Wish) -> Plan:
        """What connecting a client would change; a token is not made for that.

        Raises:
            ToolyardError: It cannot be connected; the message says why.
        """
        place = self.place(name, wish.project)
        return self.changes.plan_connect(place, self._endpoint(place, wish, HIDDEN))

    def connect(self, plan: Plan, wish: Wish) -> Record | None:
        """Connect a client as planned; None if there was nothing to do.

        Raises:
            ToolyardError: It could not be done; the file is as it was.
        """
        if wish.http and plan.changes:
            token = self._new_token(plan.place.client.name, wish.agent)
            final = self.changes.plan_connect(plan.place, self._endpoint(plan.place, wish, token))
            plan = Plan(plan.place, plan.what, plan.before, final.after)
        return self.changes.apply(plan)

    def plan_disconnect(self, name: str, project: Path | None = None) -> Plan:
        """What disconnecting a client would change.

        Raises:
            ToolyardError: It cannot be disconnected; the message says why.
        """
        return self.changes.plan_disconnect(self.place(name, project))

    def _endpoint(self, place: Place, wish: Wish, token: str) -> Endpoint:
        if not wish.http:
            return own_command(self._settings, wish.agent)
        if wish.project is not None:
            raise ConfigError(
                "a token does not belong into a project's file, which others read too",
                "leave --http or --project out",
            )
        return own_address(self._url, token, wish.agent)

    def _new_token(self, name: str, agent: str) -> str:
        """A token of the client's own: the old one, if any, is worth nothing from now on."""
        called = token_name(name)
        with suppress(UnknownNameError):
            self._tokens.revoke(called)
        return self._tokens.create(called, frozenset(), "", agent)


def token_name(client: str) -> str:
    """What the token of a client is called."""
    return f"client-{client}"


def _how(place: Place) -> str:
    data = read_file(place)
    entries = read(place.client.shape, data).entries if data is not None else ()
    found = next((each for each in entries if each.name == NAME), None)
    if found is None or not is_ours(NAME, found.endpoint):
        return ""
    if isinstance(found.endpoint, Command):
        words = found.endpoint.argv
        agent = words[words.index("--agent") + 1 :][:1] if "--agent" in words else ()
        return " ".join(("stdio", *(f"as {each}" for each in agent)))
    agent = (found.endpoint.url.partition("/mcp/a/")[2],)
    return " ".join(("http", *(f"as {each}" for each in agent if each)))
