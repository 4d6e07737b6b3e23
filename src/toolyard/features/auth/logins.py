"""Logs in at remote servers and out again."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal

from toolyard.board import Board
from toolyard.core.errors import ConfigError, LinkError, ToolyardError
from toolyard.core.lookup import find_entry
from toolyard.core.model import MEMBER_LOGIN, Entry, Snapshot, Url
from toolyard.core.problems import ProblemCode
from toolyard.features.auth.callback import PublicCallbacks
from toolyard.features.auth.oauth import login
from toolyard.features.auth.store import Grants
from toolyard.links.grants import (
    ListedGrant,
    grant_key,
    identity_url,
    is_vouched_for,
    server_key,
)
from toolyard.records.secrets.expand import Lookup, expand
from toolyard.records.secrets.member_secrets import MemberSecrets
from toolyard.tasks import Tasks

log = logging.getLogger(__name__)

PAGE_SECONDS: Final = 60.0
"""The time for the server to say where to log in."""

MOST_WAITING: Final = 500
"""Logins that may be under way."""

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


@dataclass(frozen=True, slots=True)
class MemberLogin:
    """The login of a member at one server."""

    id: str
    """Stands for it; it opens nothing."""
    member: str
    """The key of the member."""
    login: LoginState


class Logins:
    """Every login, under way or done."""

    def __init__(
        self,
        board: Board,
        grants: Grants,
        keyring: Callable[[str], str],
        callbacks: PublicCallbacks | None = None,
        secrets: MemberSecrets | None = None,
        issuer: str = "",
        page: str = "",
        member_callbacks: PublicCallbacks | None = None,
    ) -> None:
        """Keep logins in `grants`; browsers come back to one of `callbacks`, or to this machine.

        Args:
            keyring: Finds the value of `${keyring:NAME}`.
            secrets: Has the values of `${member:NAME}`; None where only the owner logs in.
            issuer: The hub's issuer, which vouches for members at some servers.
            page: The address of the page, on which members log in there.
            member_callbacks: The same as `callbacks` for members, whose browsers are told apart.
        """
        self._secrets = secrets
        self._issuer = issuer
        self._page = page
        self._callbacks = callbacks
        self._member_callbacks = member_callbacks
        self._keyring = keyring
        self._board = board
        self._grants = grants
        self._tasks = Tasks()
        self._waiting: dict[tuple[str, str], asyncio.Task[None]] = {}
        """Logins under way, by server and member."""
        self._attempts: dict[tuple[str, str], str] = {}

    def describe_client(self) -> bytes:
        """Return the document that describes us to issuers; empty if none would fetch it."""
        return self._callbacks.describe() if self._callbacks is not None else b""

    async def states(self, member: str = "") -> list[LoginState]:
        """Return the logins at all servers with an address, and those that no server has any more.

        Of a member, those at servers where members log in by themselves.

        Raises:
            StoreError: The logins cannot be read.
        """
        return await asyncio.to_thread(self._states, self._board.snapshot, member)

    def _states(self, snapshot: Snapshot, member: str) -> list[LoginState]:
        own = (grant for grant in self._grants.listed().values() if grant.member == member)
        grants = {grant.url: grant for grant in own}
        states = [
            self._state(entry, entry.server.endpoint, grants, member)
            for entry in snapshot.entries.values()
            if isinstance(entry.server.endpoint, Url)
            and (not member or entry.server.login == MEMBER_LOGIN)
        ]
        used = {state.url for state in states}
        return states + [_describe("", grant) for url, grant in grants.items() if url not in used]

    async def of_members(self) -> list[MemberLogin]:
        """Return the logins that members have, or had until they could not be renewed.

        Raises:
            StoreError: The logins cannot be read.
        """
        return await asyncio.to_thread(self._of_members, self._board.snapshot)

    def _of_members(self, snapshot: Snapshot) -> list[MemberLogin]:
        members = {grant.member for grant in self._grants.listed().values() if grant.member}
        return [
            MemberLogin(_id_of(grant_key(login.url, member)), member, login)
            for member in sorted(members)
            for login in self._states(snapshot, member)
            if login.issuer
        ]

    async def revoke(self, login_id: str) -> bool:
        """Delete the login of a member; return False if there is none of this id.

        Raises:
            SecretError, StoreError: It cannot be deleted.
        """
        return await asyncio.to_thread(self._revoke, login_id)

    def _revoke(self, login_id: str) -> bool:
        grants = self._grants.listed().items()
        key = next((key for key, grant in grants if grant.member and _id_of(key) == login_id), None)
        return key is not None and self._remove(key) is not None

    def _state(
        self, entry: Entry, endpoint: Url, grants: Mapping[str, ListedGrant], member: str
    ) -> LoginState:
        url = self._url(entry, endpoint, member)
        grant = grants.get(url)
        attempt = self._attempts.get((entry.alias, member), "")
        if grant is None:
            problem = entry.problem
            needed = problem is not None and problem.code == ProblemCode.AUTH_NEEDED
            return LoginState(
                entry.alias, url, "needed" if needed or member else "none", attempt=attempt
            )
        return _describe(entry.alias, grant, attempt)

    def _lookup(self, member: str) -> Lookup:
        """The values of references in the address of a server that a member uses."""
        own = partial(self._secrets.look_up, self._keyring, member) if self._secrets else None
        return Lookup(os.environ, keyring=self._keyring, member=own)

    def key_of(self, entry: Entry, member: str) -> str:
        """Return the key of the login of a member at a server. It blocks."""
        endpoint = entry.server.endpoint
        assert isinstance(endpoint, Url)
        return grant_key(self._url(entry, endpoint, member), member)

    def _url(self, entry: Entry, endpoint: Url, member: str) -> str:
        """Return the address under which the login for a server is kept. It blocks."""
        if is_vouched_for(endpoint):
            return identity_url(self._issuer)
        return _url(entry, endpoint, self._lookup(member))

    def find_own(self, alias: str) -> Entry:
        """Return the server at which a member logs in by themselves.

        Raises:
            UnknownNameError: There is no such server.
            ConfigError: Members do not log in there.
        """
        entry = find_entry(self._board.snapshot, alias)
        if entry.server.login != MEMBER_LOGIN:
            text = f"members do not log in to {entry.alias!r} by themselves"
            raise ConfigError(text, "its login is that of the hub's owner")
        return entry

    async def begin(self, alias: str, member: str = "", tie: str = "") -> str:
        """Begin a login; return the address of the page on which the person agrees.

        That of a member is finished in the browser that has the tie, and in no other.

        Raises:
            UnknownNameError: There is no such server.
            ConfigError: It is not one to log in to.
            LinkError: It cannot be logged in to.
        """
        entry = self.find_own(alias) if member else find_entry(self._board.snapshot, alias)
        url = await asyncio.to_thread(address_of, entry, self._lookup(member))
        if is_vouched_for(url):
            return self._at_issuer(entry, member)
        assert tie or not member, "a member's login is finished in one browser alone"
        pair = entry.alias, member
        if (before := self._waiting.pop(pair, None)) is not None:
            before.cancel()
        if len(self._waiting) >= MOST_WAITING:
            raise LinkError("too many logins are under way", "try again in a few minutes")
        page: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        task = self._tasks.start(self._login(entry, url, member, tie, page))
        if task is None:
            raise LinkError("the hub is stopping")
        self._waiting[pair] = task
        task.add_done_callback(partial(self._over, pair))
        async with asyncio.timeout(PAGE_SECONDS):
            return await asyncio.shield(page)

    def _at_issuer(self, entry: Entry, member: str) -> str:
        """Return the address of the page: whoever logs in there is let in at the server, too."""
        if not member or not self._issuer:
            text = f"{entry.alias!r} is entered by members, with their login at the hub's issuer"
            raise ConfigError(text, "come in by your own name; see TOOLYARD_ISSUER")
        return self._page

    def _over(self, pair: tuple[str, str], task: asyncio.Task[None]) -> None:
        if self._waiting.get(pair) is task:
            del self._waiting[pair]

    async def _login(
        self, entry: Entry, url: Url, member: str, tie: str, page: asyncio.Future[str]
    ) -> None:
        def show(address: str) -> None:
            if not page.done():
                page.set_result(address)

        pair = entry.alias, member
        self._attempts[pair] = "waiting"
        try:
            name = entry.server.id.name
            callbacks = self._member_callbacks if member else self._callbacks
            # The browser is gone after the first page: nobody would see a second one.
            grant = await login(
                name,
                url,
                self._grants,
                show,
                callbacks=callbacks,
                member=member,
                tie=tie,
                rounds=1,
            )
            self._attempts.pop(pair, None)
            if grant.place == "file" and not member:
                log.warning("there is no keyring; the login is kept in %s", self._grants.folder)
        except ToolyardError as error:
            self._attempts.pop(pair, None)
            if not member:  # a member is told on the page, or by what they called
                self._attempts[pair] = str(error)
            if not page.done():
                page.set_exception(error)

    async def logout(self, alias: str, member: str = "") -> bool:
        """Delete a login; return False if there was none.

        Raises:
            UnknownNameError: There is no such server.
            SecretError: The keyring does not let go of it.
        """
        entry = find_entry(self._board.snapshot, alias)
        if not isinstance(entry.server.endpoint, Url):
            return False
        key = await asyncio.to_thread(self.key_of, entry, member)
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


def _id_of(key: str) -> str:
    """Return what stands for a login, which fits into an address."""
    return hashlib.sha256(key.encode()).hexdigest()[:24]


def address_of(entry: Entry, lookup: Lookup) -> Url:
    """Return the address of a server with the values of its references. It blocks.

    Raises:
        ConfigError: It has none, or a reference stands for nothing.
    """
    endpoint = entry.server.endpoint
    if not isinstance(endpoint, Url):
        raise ConfigError(f"{entry.alias!r} is a command, not an address", "it needs no login")
    url = expand(endpoint, replace(lookup, folder=entry.server.folder))
    assert isinstance(url, Url)
    return url


def _url(entry: Entry, endpoint: Url, lookup: Lookup) -> str:
    """Return the address under which the login at a server is kept. It blocks."""
    try:
        if "${" in endpoint.url.split("?")[0]:
            endpoint = address_of(entry, lookup)
    except ToolyardError:
        pass  # without the value nobody can have logged in there
    return server_key(endpoint.url)
