"""Logs in at remote servers and out again."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from toolyard.board import Board
from toolyard.core.errors import ConfigError, LinkError, ToolyardError
from toolyard.core.lookup import find_entry
from toolyard.core.model import Entry, Snapshot, Url
from toolyard.core.problems import ProblemCode
from toolyard.features.auth.callback import PublicCallbacks
from toolyard.features.auth.oauth import login
from toolyard.features.auth.store import Grants
from toolyard.links.grants import ListedGrant, server_key
from toolyard.records.secrets.expand import Lookup, expand
from toolyard.tasks import Tasks

log = logging.getLogger(__name__)

PAGE_SECONDS: Final = 60.0
"""The time for the server to say where to log in."""

State = Literal["none", "needed", "logged-in", "ended"]


@dataclass(frozen=True, slots=True)
class LoginState:
    """The login at one server."""

    server: str
    """Its alias; empty if no server has the address any more."""
    url: str
    state: State
    issuer: str = ""
    scope: str = ""
    place: str = ""
    expires_at: float = 0.0
    attempt: str = ""
    """`waiting` while somebody logs in; what went wrong, if the last try failed."""


class Logins:
    """Every login, under way or done."""

    def __init__(
        self,
        board: Board,
        grants: Grants,
        keyring: Callable[[str], str],
        callbacks: PublicCallbacks | None = None,
    ) -> None:
        """Keep logins in `grants`; browsers come back to one of `callbacks`, or to this machine.

        Args:
            keyring: Finds the value of `${keyring:NAME}`.
        """
        self._callbacks = callbacks
        self._keyring = keyring
        self._board = board
        self._grants = grants
        self._tasks = Tasks()
        self._waiting: dict[str, asyncio.Task[None]] = {}
        self._attempts: dict[str, str] = {}

    async def states(self) -> list[LoginState]:
        """Return the logins at all servers with an address, and those that no server has any more.

        Raises:
            StoreError: The logins cannot be read.
        """
        return await asyncio.to_thread(self._states, self._board.snapshot)

    def _states(self, snapshot: Snapshot) -> list[LoginState]:
        grants = self._grants.listed()
        states = [
            self._state(entry, entry.server.endpoint, grants)
            for entry in snapshot.entries.values()
            if isinstance(entry.server.endpoint, Url)
        ]
        used = {state.url for state in states}
        return states + [_describe("", grant) for key, grant in grants.items() if key not in used]

    def _state(self, entry: Entry, endpoint: Url, grants: Mapping[str, ListedGrant]) -> LoginState:
        key = _key(entry, endpoint, self._keyring)
        grant = grants.get(key)
        attempt = self._attempts.get(entry.alias, "")
        if grant is None:
            needed = entry.problem is not None and entry.problem.code == ProblemCode.AUTH_NEEDED
            return LoginState(entry.alias, key, "needed" if needed else "none", attempt=attempt)
        return _describe(entry.alias, grant, attempt)

    async def begin(self, alias: str) -> str:
        """Begin a login; return the address of the page on which the person agrees.

        Raises:
            UnknownNameError: There is no such server.
            ConfigError: It is not one to log in to.
            LinkError: It cannot be logged in to.
        """
        entry = find_entry(self._board.snapshot, alias)
        url = await asyncio.to_thread(address_of, entry, self._keyring)
        if (before := self._waiting.pop(entry.alias, None)) is not None:
            before.cancel()
        page: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        task = self._tasks.start(self._login(entry, url, page))
        if task is None:
            raise LinkError("the hub is stopping")
        self._waiting[entry.alias] = task
        async with asyncio.timeout(PAGE_SECONDS):
            return await asyncio.shield(page)

    async def _login(self, entry: Entry, url: Url, page: asyncio.Future[str]) -> None:
        def show(address: str) -> None:
            if not page.done():
                page.set_result(address)

        self._attempts[entry.alias] = "waiting"
        try:
            name, callbacks = entry.server.id.name, self._callbacks
            grant = await login(name, url, self._grants, show, callbacks=callbacks)
            self._attempts.pop(entry.alias, None)
            if grant.place == "file":
                log.warning("there is no keyring; the login is kept in %s", self._grants.folder)
        except ToolyardError as error:
            self._attempts[entry.alias] = str(error)
            if not page.done():
                page.set_exception(error)

    async def logout(self, alias: str) -> bool:
        """Delete a login; return False if there was none.

        Raises:
            UnknownNameError: There is no such server.
            SecretError: The keyring does not let go of it.
        """
        entry = find_entry(self._board.snapshot, alias)
        if not isinstance(entry.server.endpoint, Url):
            return False
        key = await asyncio.to_thread(_key, entry, entry.server.endpoint, self._keyring)
        return await asyncio.to_thread(self._remove, key) is not None

    def _remove(self, key: str) -> ListedGrant | None:
        """Delete a grant, and not while it is renewed: it would be written again. It blocks."""
        with self._grants.hold(key):
            return self._grants.remove(key)

    async def close(self) -> None:
        """Give up what is under way."""
        await self._tasks.close()


def _describe(alias: str, grant: ListedGrant, attempt: str = "") -> LoginState:
    """Describe a login; one that expired still holds, for it is renewed when it is needed."""
    is_over = bool(grant.expires_at) and time.time() >= grant.expires_at
    state: State = "ended" if grant.ended and is_over else "logged-in"
    details = grant.issuer, grant.scope, grant.place, grant.expires_at
    return LoginState(alias, grant.url, state, *details, attempt)


def address_of(entry: Entry, keyring: Callable[[str], str]) -> Url:
    """Return the address of a server with the values of its references. It blocks.

    Raises:
        ConfigError: It has none, or a reference stands for nothing.
    """
    endpoint = entry.server.endpoint
    if not isinstance(endpoint, Url):
        raise ConfigError(f"{entry.alias!r} is a command, not an address", "it needs no login")
    url = expand(endpoint, Lookup(os.environ, entry.server.folder, keyring))
    assert isinstance(url, Url)
    return url


def _key(entry: Entry, endpoint: Url, keyring: Callable[[str], str]) -> str:
    """Return the key under which the login at a server is kept. It blocks."""
    try:
        if "${" in endpoint.url.split("?")[0]:
            endpoint = address_of(entry, keyring)
    except ToolyardError:
        pass  # without the value nobody can have logged in there
    return server_key(endpoint.url)
