"""The logins of links: read late, renewed ahead of time, and shown to nobody.

One task looks after all of them. A server that wants a person to log in is parked: it is asked
nothing until somebody has logged in or out, or its entry has changed.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Final, Protocol

from toolyard.core.endpoint import RegisteredClient
from toolyard.core.errors import LinkError, StoreError, ToolyardError
from toolyard.core.model import MEMBER_LOGIN, Entry, Server, ServerId, Snapshot, Url
from toolyard.links.client_grants import client_key, client_of, obtain
from toolyard.links.grants import GrantStore, ListedGrant, OAuthGrant, grant_key, login_key
from toolyard.links.http import with_authorization
from toolyard.links.identity_grants import obtain_for, personal_key
from toolyard.links.keeper import Keeper
from toolyard.links.link import Link
from toolyard.links.opening import Opening, Proceed
from toolyard.links.refresh import renew
from toolyard.links.refusals import AuthNeededError, ScopeNeededError
from toolyard.records.follow import ChangeSignal
from toolyard.records.secrets.expand import find_member_secrets, find_secrets
from toolyard.records.secrets.member_secrets import MemberSecret
from toolyard.tasks import Tasks

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 30.0
"""The longest pause while a login will end: a machine may have slept."""
FIRST_PAUSE: Final = 2.0
LONGEST_PAUSE: Final = 300.0


class SecretIndex(Protocol):
    """The secrets of the user, without their values."""

    def revision(self) -> object:
        """Another value as soon as a secret is set or removed."""
        ...

    def changes(self) -> Mapping[str, float]:
        """Return when each secret was last set, by its key, such as `keyring:name`.

        Raises:
            StoreError: They cannot be read.
        """
        ...


class MemberIndex(Protocol):
    """The secrets of members, without their values."""

    def revision(self) -> object:
        """Another value as soon as a secret is set or removed."""
        ...

    def listed(self) -> Sequence[MemberSecret]:
        """Return every secret without its value.

        Raises:
            StoreError: They cannot be read.
        """
        ...

    def forget(self, member: str) -> None:
        """Forget all secrets of a member.

        Raises:
            StoreError: They cannot be deleted.
        """
        ...


class LinkKeepers(Protocol):
    """The keepers of links, for everybody and for members."""

    def find(self, server: ServerId, member: str) -> Sequence[Keeper]:
        """The keepers of a server that use the credentials of a member; empty for the owner's."""
        ...

    def look(self, server: Server, member: str) -> None:
        """Find out with a member's credentials what a server offers, if nobody knows that yet."""
        ...


class Credentials:
    """The logins of all servers, as their links need them."""

    def __init__(
        self,
        grants: GrantStore,
        secrets: SecretIndex,
        members: MemberIndex,
        keepers: LinkKeepers,
        picture: Callable[[], Snapshot],
        changes: ChangeSignal,
        issuer: str = "",
    ) -> None:
        """Know what is kept.

        Args:
            changes: Told when grants or secrets may be others.
            issuer: The hub's issuer, if it is one that can vouch for members elsewhere.
        """
        self._issuer = issuer
        self.applied = ChangeSignal()
        """Told once what has changed is known to links."""
        self._grants = grants
        self._secrets = secrets
        self._members = members
        self._keepers = keepers
        self._picture = picture
        self._member_times: Mapping[tuple[str, str], float] = {}
        """The times at which secrets of members were set, by member and name."""
        self._whose: dict[str, str] = {}
        """The members of the keys in `_servers`."""
        self._gone: frozenset[str] = frozenset()
        """The members of whom nothing may be kept."""
        self._listed: Mapping[str, ListedGrant] = {}
        self._secret_times: Mapping[str, float] = {}
        self._revisions: tuple[object, ...] = ()
        self._changes = changes
        self._held: dict[str, OAuthGrant] = {}
        self._clients: dict[str, Callable[[], Awaitable[OAuthGrant]]] = {}
        """The ways to a new grant for those keys that need no person."""
        self._issuers: dict[str, str] = {}
        """The issuers to which clients were first shown, by key: no other gets their secrets."""
        self._servers: dict[str, set[ServerId]] = {}
        """The servers that were opened at an address, or were to be."""
        self._links: dict[str, set[Link]] = {}
        self._renewals: dict[str, asyncio.Task[OAuthGrant | ToolyardError]] = {}
        self._tries: dict[str, tuple[int, float]] = {}
        """The number of failed renewals, and when to try again."""
        self._tasks = Tasks()
        self._looking = asyncio.Lock()
        self._reread()

    def log_in(self, opening: Opening, proceed: Proceed) -> AbstractAsyncContextManager[Link]:
        """Step: go on with what the server lets us in with, if it is an address.

        Raises:
            AuthNeededError: A person has to log in.
        """
        if isinstance(opening.endpoint, Url):
            return self._logged_in(opening, opening.endpoint, proceed)
        return proceed(opening)

    @asynccontextmanager
    async def _logged_in(
        self, opening: Opening, endpoint: Url, proceed: Proceed
    ) -> AsyncIterator[Link]:
        server = opening.server
        key, member = self._way_in(opening, endpoint)
        self._drop_clients(server.id, member, key)
        self._note(server.id, key, member)
        self._changes.tell()
        async with AsyncExitStack() as stack:
            try:
                link = await self._enter(stack, opening, endpoint, key, proceed)
            except AuthNeededError:
                if server.login == MEMBER_LOGIN and not member:
                    self.look_for(server)
                raise
            link.on_unauthorized = partial(self._refused, server.id, key, _is_told(endpoint))
            links = self._links.setdefault(key, set())
            links.add(link)
            stack.callback(links.discard, link)
            yield link

    def _way_in(self, opening: Opening, endpoint: Url) -> tuple[str, str]:
        """Return the key of the login for an address, and whose it is.

        Where a login takes no person, the way to it is noted.
        """
        server, member = opening.server, opening.owner.member
        client = None if _is_told(endpoint) else endpoint.auth
        if client is not None and client.is_personal:
            key = personal_key(endpoint, client, member)
            self._clients[key] = partial(self._vouched_for, server, endpoint, client, member)
            # Whoever logs in at the issuer is let in here, too.
            self._note(server.id, login_key(endpoint, member, self._issuer), member)
            return key, member
        if client is not None and client_of(endpoint) is not None:
            # Its secret may be a member's own.
            key = client_key(endpoint, client)
            self._clients[key] = partial(self._let_in, server.id.name, endpoint, client, key)
            return key, member
        member = _member_of(opening)
        return grant_key(endpoint.url, member), member

    def _note(self, id_: ServerId, key: str, member: str) -> None:
        self._servers.setdefault(key, set()).add(id_)
        self._whose[key] = member

    async def _let_in(
        self, name: str, endpoint: Url, client: RegisteredClient, key: str
    ) -> OAuthGrant:
        """Return a grant of a client that is let in by itself."""
        grant = await obtain(name, endpoint, client, self._issuers.get(key, ""))
        self._issuers.setdefault(key, grant.issuer)
        return grant

    async def _vouched_for(
        self, server: Server, endpoint: Url, client: RegisteredClient, member: str
    ) -> OAuthGrant:
        """Return a grant for which the member's login at the hub's issuer vouches."""
        name = server.id.name
        if not self._issuer:
            hint = "set TOOLYARD_ISSUER to the provider of both, which has to support it"
            raise LinkError(f"nobody can vouch for members at {name!r}", hint)
        login = None
        if member:
            login = await self._grant(server, login_key(endpoint, member, self._issuer))
        if login is None:
            raise _member_needed(name)
        return await obtain_for(name, endpoint, client, login)

    async def _enter(
        self, stack: AsyncExitStack, opening: Opening, endpoint: Url, key: str, proceed: Proceed
    ) -> Link:
        """Open it; one refusal of a login that can be renewed is met with a new one."""
        grant = None if _is_told(endpoint) else await self._grant(opening.server, key)
        if grant is None:
            if _member_of(opening) and not _is_told(endpoint):
                raise _member_needed(opening.server.id.name)
            return await stack.enter_async_context(proceed(opening))
        try:
            return await stack.enter_async_context(proceed(_with(opening, endpoint, grant)))
        except ScopeNeededError as error:
            await self._note_scope(key, error)
            raise
        except AuthNeededError as error:
            grant = await self._renew_or(error, key, grant)
        return await stack.enter_async_context(proceed(_with(opening, endpoint, grant)))

    async def _renew_or(self, refusal: AuthNeededError, key: str, grant: OAuthGrant) -> OAuthGrant:
        try:
            return await self.renew(key, grant)
        except AuthNeededError as error:
            raise refusal from error

    async def _grant(self, server: Server, key: str) -> OAuthGrant | None:
        """The login of a key, renewed if it has expired."""
        if key in self._clients:
            return await self._client_grant(key)
        await self.catch_up()  # whoever has just logged in calls at once
        if key not in self._listed:
            return None
        grant = self._held.get(key) or await asyncio.to_thread(self._grants.read, key)
        if grant is None:
            return None
        self._hold(key, grant)
        if grant.expires_at and time.time() >= grant.expires_at:
            needed = _needed(server.id.name)
            if self._listed[key].ended:
                raise needed
            return await self._renew_or(needed, key, grant)
        return grant

    def _drop_clients(self, id_: ServerId, member: str, key: str) -> None:
        """Forget the clients that a server had before its entry or a secret was another."""
        for stale in self._clients.keys() - {key}:
            if self._whose.get(stale) == member and id_ in self._servers.get(stale, ()):
                self._servers[stale].discard(id_)
                if not self._servers[stale]:
                    del self._clients[stale]
                    self._held.pop(stale, None)

    async def _client_grant(self, key: str) -> OAuthGrant:
        """The grant of a client, obtained if there is none that is good."""
        grant = self._held.get(key)
        if grant is None or (grant.expires_at and time.time() >= grant.expires_at):
            return await self.renew(key, grant)
        return grant

    async def renew(self, key: str, old: OAuthGrant | None) -> OAuthGrant:
        """Return a newer grant than `old`; everybody who asks meanwhile gets the same.

        Raises:
            AuthNeededError: Nobody renews it.
            LinkError: It could not be renewed now.
        """
        task = self._renewals.get(key)
        if task is None:
            task = self._tasks.start(self._renew(key, old))
            if task is None:
                raise LinkError("the hub is stopping")
            self._renewals[key] = task
            task.add_done_callback(lambda _: self._renewals.pop(key, None))
        outcome = await asyncio.shield(task)
        if isinstance(outcome, ToolyardError):
            raise outcome
        return outcome

    async def _renew(self, key: str, old: OAuthGrant | None) -> OAuthGrant | ToolyardError:
        try:
            grant = await self._renewed(key, old)
        except AuthNeededError as error:
            await asyncio.to_thread(self._grants.end, key)
            self._reread()
            return error
        except ToolyardError as error:
            failures = self._tries.get(key, (0, 0.0))[0] + 1
            pause = min(FIRST_PAUSE * 2 ** (failures - 1), LONGEST_PAUSE)
            self._tries[key] = (failures, time.time() + pause * random.uniform(0.8, 1.2))
            self._changes.tell()
            log.warning("a login could not be renewed", extra={"issuer": old.issuer if old else ""})
            return error
        self._tries.pop(key, None)
        self._adopt(key, grant)
        return grant

    async def _renewed(self, key: str, old: OAuthGrant | None) -> OAuthGrant:
        if key in self._clients:
            # It is kept in memory alone: whoever needs another one gets it in a request.
            return await self._clients[key]()
        return await renew(self._grants, key, old)

    def _hold(self, key: str, grant: OAuthGrant) -> None:
        """Keep a grant in memory, and see when it is to be renewed."""
        self._held[key] = grant
        self._changes.tell()

    def _adopt(self, key: str, grant: OAuthGrant) -> None:
        """Use a grant from now on, also on the links that are open."""
        self._hold(key, grant)
        for link in self._links.get(key, ()):
            link.authorize(f"Bearer {grant.access_token}")

    # Trouble.

    async def _refused(
        self, id_: ServerId, key: str, is_told: bool, error: LinkError, again: bool
    ) -> None:
        """A link was refused in the middle of its life; returns when there is a newer login.

        Raises:
            LinkError: There is none; a server that a person has to log in at is parked.
        """
        if isinstance(error, ScopeNeededError):
            await self._lacks_scope(id_, key, error)
            raise error
        grant = None if is_told else self._held.get(key)
        if grant is None or again:
            raise self._park(id_, key, error)
        try:
            await self.renew(key, grant)
        except AuthNeededError as ended:
            needed = ended if key in self._clients else _needed(id_.name)
            raise self._park(id_, key, needed) from ended
        except ToolyardError as failure:
            # It is tried again ahead of time, with growing pauses.
            text = f"the login at {id_.name!r} could not be renewed: {failure}"
            raise LinkError(text, failure.hint or "try again in a moment") from failure

    async def _lacks_scope(self, id_: ServerId, key: str, error: ScopeNeededError) -> None:
        """Tell people; what the login is good for goes on working."""
        await self._note_scope(key, error)
        for keeper in self._keepers.find(id_, self._whose.get(key, "")):
            keeper.lack(error)

    async def _note_scope(self, key: str, error: ScopeNeededError) -> None:
        try:
            await asyncio.to_thread(self._grants.want, key, error.scope)
        except ToolyardError as failure:
            log.warning("a scope that a server wants cannot be noted: %s", failure)

    def _park(self, id_: ServerId, key: str, error: LinkError) -> LinkError:
        """Park a server once the request that was refused has failed by what it was refused for.

        Parking ends its link, and all other requests on it with that.
        """
        if isinstance(error, AuthNeededError):
            soon = asyncio.get_running_loop().call_soon
            for keeper in self._keepers.find(id_, self._whose.get(key, "")):
                soon(keeper.park, error)
        return error

    def _keepers_at(self, key: str) -> list[Keeper]:
        member = self._whose.get(key, "")
        ids = self._servers.get(key, ())
        return [keeper for id_ in ids for keeper in self._keepers.find(id_, member)]

    # The one task.

    async def run(self) -> None:
        """Follow what is kept, and renew ahead of time, until cancelled."""
        try:
            while True:
                count = self._changes.count
                await self.catch_up()
                await self._forget_gone()
                self._renew_due()
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._until_due()):
                        await self._changes.wait(count)
        finally:
            await self._tasks.close()

    def forget(self, members: Collection[str]) -> None:
        """Keep nothing of these members, now or later; of those that were named before, again."""
        if self._gone != (gone := frozenset(members)):
            self._gone = gone
            self._changes.tell()

    async def _forget_gone(self) -> None:
        """Delete what is kept of members that are gone; what fails is tried again."""
        theirs = {member for member, _ in self._member_times}
        theirs |= {grant.member for grant in self._listed.values()}
        for member in self._gone & theirs:
            for key in [key for key, whose in self._whose.items() if whose == member]:
                self._held.pop(key, None)
            try:
                await asyncio.to_thread(self._grants.forget, member)
                await asyncio.to_thread(self._members.forget, member)
            except ToolyardError as error:
                log.warning("credentials of a member who is gone are not deleted: %s", error)
                asyncio.get_running_loop().call_later(LOOK_SECONDS, self._changes.tell)

    async def catch_up(self) -> None:
        """Know all that is kept now, and let links know it."""
        async with self._looking:
            await self._look()

    async def _look(self) -> None:
        """See whether somebody logged in or out, or set a secret."""
        if self._current_revisions() == self._revisions:
            return
        listed, times, theirs = self._listed, self._secret_times, self._member_times
        self._reread()
        for key in listed.keys() | self._listed.keys():
            before, now = listed.get(key), self._listed.get(key)
            if before != now and (now is None or not now.ended) and key in self._servers:
                await self._changed(key)
        keys = times.keys() | self._secret_times.keys()
        changed = {key for key in keys if times.get(key) != self._secret_times.get(key)}
        if changed:
            self._secrets_changed(changed)
        both = theirs.keys() | self._member_times.keys()
        for pair in both:
            if theirs.get(pair) != self._member_times.get(pair):
                self._member_secret_changed(*pair)
        self._look_for_members(self._listed.keys() - listed.keys())
        self.applied.tell()

    def _reread(self) -> None:
        """Read what is no secret: two small files, or what is in memory anyway."""
        self._revisions = self._current_revisions()
        try:
            self._listed, self._secret_times = self._grants.listed(), self._secrets.changes()
            theirs = self._members.listed()
            self._member_times = {(one.member, one.name): one.changed_at for one in theirs}
        except StoreError as error:
            log.warning("the list of logins or secrets cannot be used: %s", error)

    def _current_revisions(self) -> tuple[object, ...]:
        return self._grants.revision(), self._secrets.revision(), self._members.revision()

    async def _changed(self, key: str) -> None:
        before = self._held.pop(key, None)
        try:
            grant = await asyncio.to_thread(self._grants.read, key)
        except ToolyardError as error:
            log.warning("a login cannot be read: %s", error)
            return
        if grant is None:
            for keeper in self._keepers_at(key):
                keeper.renew("was logged out of")
        elif before is None or grant.access_token != before.access_token:
            self._adopt(key, grant)
            for keeper in self._keepers_at(key):
                keeper.free()
        else:
            self._hold(key, grant)  # our own renewal

    def _secrets_changed(self, changed: set[str]) -> None:
        """Start the servers that use them anew with the next call, and at once if they failed."""
        for id_, entry in self._picture().entries.items():
            server = entry.server
            used = {*find_secrets(server.endpoint, server.folder)}
            if server.is_per_member:  # the owner has them in the keyring
                used |= {f"keyring:{name}" for name in find_member_secrets(server.endpoint)}
            if changed & used:
                _start_anew(self._keepers.find(id_, ""))

    def _member_secret_changed(self, member: str, name: str) -> None:
        """Start the servers of a member that use a secret anew, and look at what is unknown."""
        for entry in self._per_member():
            server = entry.server
            if name in find_member_secrets(server.endpoint):
                _start_anew(self._keepers.find(server.id, member))
                if self._can_use(server, member):
                    self._keepers.look(server, member)

    def look_for(self, server: Server) -> None:
        """Find out what a server of members offers, with the credentials of one who has all."""
        with_secrets = {member for member, _ in self._member_times}
        members = with_secrets | {grant.member for grant in self._listed.values()} - {""}
        ready = (member for member in sorted(members) if self._can_use(server, member))
        if (member := next(ready, "")) != "":
            self._keepers.look(server, member)

    def _can_use(self, server: Server, member: str) -> bool:
        """Tell whether a member has the secrets of a server, and a login if it wants one."""
        return not self.missing(server, member)

    def missing(self, server: Server, member: str) -> list[str]:
        """Return the secrets of a server that a member has not set; empty for a login."""
        times = self._member_times
        names = [n for n in find_member_secrets(server.endpoint) if (member, n) not in times]
        if server.login == MEMBER_LOGIN and isinstance(server.endpoint, Url):
            grant = self._listed.get(login_key(server.endpoint, member, self._issuer))
            names += [""] if grant is None or grant.ended else []
        return names

    def _look_for_members(self, keys: Collection[str]) -> None:
        """Look at servers of which nothing is known with the logins of members that are new."""
        for grant in (self._listed[key] for key in keys):
            for entry in self._per_member() if grant.member else ():
                if self._can_use(entry.server, grant.member):
                    self._keepers.look(entry.server, grant.member)

    def _per_member(self) -> list[Entry]:
        entries = self._picture().entries.values()
        return [entry for entry in entries if entry.server.is_per_member]

    def _renew_due(self) -> None:
        now = time.time()
        for key, grant in self._held.items():
            due = self._due(key, grant)
            if due is None or now < due:
                continue
            if self._is_ended(key, grant):
                self._park_all(key)
            elif key not in self._renewals:
                self._tasks.start(self._ahead(key, grant))

    def _due(self, key: str, grant: OAuthGrant) -> float | None:
        """The time at which a grant needs attention; None if it never does, as far as is known."""
        is_kept = key in self._listed or key in self._clients
        if not is_kept or not self._keepers_at(key) or not grant.expires_at:
            return None
        if self._is_ended(key, grant):
            return grant.expires_at
        return max(grant.refresh_at, self._tries.get(key, (0, 0.0))[1])

    def _is_ended(self, key: str, grant: OAuthGrant) -> bool:
        if key in self._clients:
            return False
        return self._listed[key].ended or not grant.refresh_token

    def _until_due(self) -> float | None:
        """Seconds until a grant is due; None if none will be."""
        now = time.time()
        dues = [self._due(key, grant) for key, grant in self._held.items()]
        left = [due - now for due in dues if due is not None and due > now]
        return min(LOOK_SECONDS, *left) if left else None

    def _park_all(self, key: str) -> None:
        for keeper in self._keepers_at(key):
            if keeper.reporter.failing_since is None:
                keeper.park(_needed(keeper.server.id.name))

    async def _ahead(self, key: str, grant: OAuthGrant) -> None:
        try:
            await self.renew(key, grant)
        except ToolyardError as error:
            log.info("a login was not renewed ahead of time: %s", error)


def _start_anew(keepers: Iterable[Keeper]) -> None:
    for keeper in keepers:
        keeper.rest()
        keeper.free()


def _member_of(opening: Opening) -> str:
    """The member whose login is used; empty for the owner's."""
    return opening.owner.member if opening.server.login == MEMBER_LOGIN else ""


def _member_needed(name: str) -> AuthNeededError:
    text = f"{name!r} needs a login of your own"
    return AuthNeededError(text, 401, "log in there, then call again")


def _is_told(endpoint: Url) -> bool:
    """Return whether its entry says what to be let in with."""
    return any(name.lower() == "authorization" for name, _ in endpoint.headers)


def _with(opening: Opening, endpoint: Url, grant: OAuthGrant) -> Opening:
    value = f"Bearer {grant.access_token}"
    headers = with_authorization(endpoint.headers, value)
    return replace(opening, endpoint=replace(endpoint, headers=headers))


def _needed(name: str) -> AuthNeededError:
    hint = f"run: toolyard auth login {name}"
    return AuthNeededError(f"the login at {name!r} has ended", 401, hint)
