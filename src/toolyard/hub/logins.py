"""Logs in at remote servers and out again, on the order of a door."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from dataclasses import dataclass
from typing import Final, Literal

from toolyard.core.errors import ConfigError, LinkError, ToolyardError
from toolyard.core.model import Entry, Url
from toolyard.core.problems import ProblemCode
from toolyard.hub import Hub
from toolyard.links.oauth import login
from toolyard.stores.expand import Lookup, expand
from toolyard.stores.grants import Grants, Listed, server_key
from toolyard.wire.tasks import Tasks

log = logging.getLogger(__name__)

PAGE_SECONDS: Final = 60.0
"""Until the server has said where to log in."""

State = Literal["none", "needed", "logged-in", "ended"]


@dataclass(frozen=True, slots=True)
class LoginState:
    """How one server is logged in to."""

    server: str
    """Its alias."""
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

    def __init__(self, hub: Hub, grants: Grants) -> None:
        self._hub = hub
        self._grants = grants
        self._tasks = Tasks()
        self._waiting: dict[str, asyncio.Task[None]] = {}
        self._attempts: dict[str, str] = {}

    async def states(self) -> list[LoginState]:
        """How every server with an address is logged in to.

        Raises:
            StoreError: The logins cannot be read.
        """
        listed = await asyncio.to_thread(self._grants.listed)
        return [
            self._state(entry, entry.server.endpoint, listed)
            for entry in self._hub.snapshot.entries.values()
            if isinstance(entry.server.endpoint, Url)
        ]

    def _state(self, entry: Entry, endpoint: Url, listed: dict[str, Listed]) -> LoginState:
        key = _key(entry, endpoint)
        grant = listed.get(key)
        attempt = self._attempts.get(entry.alias, "")
        if grant is None:
            needed = entry.problem is not None and entry.problem.code == ProblemCode.AUTH_NEEDED
            return LoginState(entry.alias, key, "needed" if needed else "none", attempt=attempt)
        return LoginState(
            entry.alias,
            key,
            judge(grant),
            grant.issuer,
            grant.scope,
            grant.place,
            grant.expires_at,
            attempt,
        )

    async def begin(self, alias: str) -> str:
        """Begin a login; give the address of the page on which the person agrees.

        Raises:
            UnknownNameError: There is no such server.
            ConfigError: It is not one to log in to.
            LinkError: It cannot be logged in to.
        """
        entry = self._hub.entry(alias)
        url = await asyncio.to_thread(_address, entry)
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
            listed = await login(entry.server.id.name, url, self._grants, show)
            self._attempts.pop(entry.alias, None)
            if listed.place == "file":
                log.warning("there is no keyring; the login is kept in %s", self._grants.folder)
        except ToolyardError as error:
            self._attempts[entry.alias] = str(error)
            if not page.done():
                page.set_exception(error)

    async def logout(self, alias: str) -> bool:
        """Forget a login; false if there was none.

        Raises:
            UnknownNameError: There is no such server.
            SecretError: The keyring does not let go of it.
        """
        entry = self._hub.entry(alias)
        if not isinstance(entry.server.endpoint, Url):
            return False
        key = _key(entry, entry.server.endpoint)
        return await asyncio.to_thread(self._grants.remove, key) is not None

    async def close(self) -> None:
        """Give up what is under way."""
        await self._tasks.close()


def judge(grant: Listed) -> State:
    """Whether a login still holds; one that expired is renewed when it is needed."""
    over = bool(grant.expires_at) and time.time() >= grant.expires_at
    return "ended" if grant.ended and over else "logged-in"


def _address(entry: Entry) -> Url:
    endpoint = entry.server.endpoint
    if not isinstance(endpoint, Url):
        raise ConfigError(f"{entry.alias!r} is a command, not an address", "it needs no login")
    found = expand(endpoint, Lookup(os.environ, entry.server.folder))
    assert isinstance(found, Url)
    return found


def _key(entry: Entry, endpoint: Url) -> str:
    try:
        if "${" in endpoint.url.split("?")[0]:
            endpoint = _address(entry)
    except ToolyardError:
        pass  # what it stands for is not known, so nobody can have logged in there
    return server_key(endpoint.url)
