"""Keeps the logins of members at the issuer, for servers at which it vouches for them."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

import msgspec

from toolyard.board import Board
from toolyard.core.errors import ToolyardError
from toolyard.core.model import Url
from toolyard.features.members.identity import Identities
from toolyard.features.members.page_client import GivenTokens, PageClient
from toolyard.links.grants import GrantStore, OAuthGrant, identity_url, is_vouched_for

log = logging.getLogger(__name__)

LONGEST: Final = 16 * 1024
"""Characters of a token that is kept."""


class LoginKeeper:
    """Keeps what the page got of the issuer, if a server is entered with it."""

    def __init__(self, identities: Identities, grants: GrantStore, board: Board) -> None:
        self._identities = identities
        self._grants = grants
        self._board = board

    async def keep(
        self, member: str, tokens: GivenTokens, client: PageClient, endpoint: str
    ) -> None:
        """Keep the login of a member in the place of their last one.

        What renews it stays with the page alone: of two that use it, the issuer would take one for
        a thief.
        """
        told = self._identities.read_identity(tokens.id_token.encode(), client.client_id)
        is_theirs = told is not None and told.person.key == member
        if tokens.id_token and not is_theirs:
            log.warning("the issuer vouches for somebody else than who logged in")
            return
        if not self._is_wanted() or len(tokens.access_token) > LONGEST:
            return
        issuer = self._identities.issuer.url
        grant = OAuthGrant(
            url=identity_url(issuer),
            issuer=issuer,
            token_endpoint=endpoint,
            client=msgspec.json.encode(client).decode(),
            access_token=tokens.access_token,
            member=member,
            id_token=tokens.id_token,
            id_expires_at=told.expires if told is not None else 0.0,
        )
        try:
            await asyncio.to_thread(self._grants.write, grant)
        except ToolyardError as error:
            log.warning("a login that vouches for a member is not kept: %s", error)

    def _is_wanted(self) -> bool:
        """Tell whether any server is entered so."""
        servers = (entry.server for entry in self._board.snapshot.entries.values())
        urls = (server.endpoint for server in servers if isinstance(server.endpoint, Url))
        return any(map(is_vouched_for, urls))
