"""The login at one hub: read when it is needed, and renewed ahead of time."""

from __future__ import annotations

import asyncio
import os
import time
from typing import Final

from toolyard.core.errors import ToolyardError
from toolyard.features.auth.store import open_hub_grants
from toolyard.features.remote_hub.address import door_of, hub_of
from toolyard.links.grants import GrantStore, OAuthGrant
from toolyard.links.refresh import renew
from toolyard.links.refusals import AuthNeededError
from toolyard.settings import read_settings

_UNREAD: Final = object()
"""A revision that no store has."""


class HubLogin:
    """The token that lets a member in at one hub."""

    def __init__(self, grants: GrantStore, door: str) -> None:
        self._grants = grants
        self._door = door
        self._revision: object = _UNREAD
        self._grant: OAuthGrant | None = None
        self._is_ended = False
        self._turn = asyncio.Lock()

    async def bearer(self, refused: str = "") -> str:
        """Return a token for the hub; another one than that which it has refused.

        Raises:
            AuthNeededError: A person has to log in.
            ToolyardError: It cannot be read or renewed now.
        """
        async with self._turn:
            grant = await self._read()
            if grant.access_token == refused or _is_due(grant):
                grant = await self._renew(grant, refused)
            return grant.access_token

    async def _read(self) -> OAuthGrant:
        """Return the grant that is kept now: somebody may have logged in or out meanwhile."""
        if (revision := self._grants.revision()) != self._revision:
            self._grant, self._is_ended = await asyncio.to_thread(self._look)
            self._revision = revision
        hub = hub_of(self._door)
        if self._is_ended:
            raise AuthNeededError(f"your login at {hub} has ended", 401, _action(hub))
        if self._grant is None:
            raise AuthNeededError(f"you are not logged in to {hub}", 401, _action(hub))
        return self._grant

    def _look(self) -> tuple[OAuthGrant | None, bool]:
        listed = self._grants.listed().get(self._door)
        return self._grants.read(self._door), listed is not None and listed.ended

    async def _renew(self, grant: OAuthGrant, refused: str) -> OAuthGrant:
        try:
            self._grant = await renew(self._grants, self._door, grant)
        except AuthNeededError as error:
            await asyncio.to_thread(self._grants.end, self._door)
            hub = hub_of(self._door)
            text = f"your login at {hub} has ended"
            raise AuthNeededError(text, 401, _action(hub)) from error
        except ToolyardError:
            is_good = time.time() < grant.expires_at and grant.access_token != refused
            if not is_good:
                raise
            return grant  # the next request tries again
        self._revision = self._grants.revision()
        return self._grant


def open_hub_login(hub: str) -> HubLogin:
    """Open the login of this machine at a hub.

    Raises:
        ConfigError: A setting cannot be used.
    """
    return HubLogin(open_hub_grants(read_settings({}, os.environ)), door_of(hub))


def _is_due(grant: OAuthGrant) -> bool:
    """True if a grant is to be renewed now; one that nobody renews is used to its end."""
    due = grant.refresh_at if grant.refresh_token else grant.expires_at
    return bool(due) and time.time() >= due


def _action(hub: str) -> str:
    return f"run: toolyard login {hub}"
