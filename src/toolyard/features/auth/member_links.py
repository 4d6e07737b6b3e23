"""Links to the pages on which members log in, or enter a secret: for one member, and once.

A link says in sealed words what it is for, so that any replica can serve it. It is used up as soon
as the credential is there. `link_pages` serves the pages, to that member alone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

import msgspec

from toolyard.board import Board
from toolyard.core.errors import MemberSecretError, ToolyardError
from toolyard.core.model import MEMBER_LOGIN, Entry, ServerId
from toolyard.core.open_pages import LinkVisit
from toolyard.features.auth.logins import Logins
from toolyard.features.auth.store import Grants
from toolyard.links.refusals import AuthNeededError
from toolyard.records.follow import ChangeSignal
from toolyard.records.secrets.member_secrets import MemberSecrets
from toolyard.relay.credential_asking import CredentialNeed
from toolyard.wire.seal import Seal

PURPOSE: Final = "member link"
PROOF: Final = "proof of a member"
LINK_SECONDS: Final = 900.0
LOOK_SECONDS: Final = 5.0
"""The longest pause between two looks whether a credential is there."""


class Ticket(msgspec.Struct, frozen=True, array_like=True):
    """The words of a link."""

    member: str
    server: str
    source: str
    secret: str
    """The name of the secret to enter; empty for a login."""
    made_at: float


class OpenedLink(NamedTuple):
    """A link that is still good."""

    text: str
    ticket: Ticket
    entry: Entry
    label: str
    """The name of its member for people."""


class MemberLinks:
    """Makes links, and opens those that are still good; see `CredentialLinks`."""

    def __init__(
        self,
        board: Board,
        logins: Logins,
        grants: Grants,
        secrets: MemberSecrets,
        applied: ChangeSignal,
        apply: Callable[[], Awaitable[None]],
        base: str,
        seal: Callable[[], Seal],
        find_label: Callable[[str], str],
    ) -> None:
        """Make links to pages below `base`.

        Args:
            applied: Told once a new credential is known to links.
            apply: Lets links know what is kept now.
            find_label: Gives the name of a member for people; empty if they are let in no longer.
        """
        self._board = board
        self._logins = logins
        self._grants = grants
        self._secrets = secrets
        self._applied = applied
        self._apply = apply
        self._base = base
        self._seal = seal
        self._find_label = find_label

    def find(self, member: str, server: ServerId, error: ToolyardError) -> CredentialNeed | None:
        """Return the credential whose lack an error tells of; None if no page would help."""
        entry = self._board.snapshot.entries.get(server)
        if entry is None or not member:
            return None
        if isinstance(error, MemberSecretError):
            return CredentialNeed(member, server, entry.alias, error.name, time.time())
        if isinstance(error, AuthNeededError) and entry.server.login == MEMBER_LOGIN:
            return CredentialNeed(member, server, entry.alias, "", time.time())
        return None

    def make(self, need: CredentialNeed) -> str:
        """Return the address of the page for it."""
        server = need.server
        ticket = Ticket(need.member, server.name, server.source, need.secret, need.asked_at)
        sealed = self._seal().seal(PURPOSE, "", msgspec.msgpack.encode(ticket))
        return f"{self._base}{sealed}"

    async def arrive(self, need: CredentialNeed) -> None:
        """Wait until the credential is there, and links know it."""
        while True:
            count = self._applied.count
            if await self._has_arrived(need.server, need.member, need.secret, need.asked_at):
                await self._apply()
                return
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._applied.wait(count)
            except TimeoutError:
                continue

    async def _has_arrived(self, server: ServerId, member: str, secret: str, since: float) -> bool:
        entry = self._board.snapshot.entries.get(server)
        if entry is None:
            return False
        return await asyncio.to_thread(self._look, entry, member, secret, since)

    def _look(self, entry: Entry, member: str, secret: str, since: float) -> bool:
        if secret:
            kept = self._secrets.of(member).get(secret)
            return kept is not None and kept.changed_at > since
        grant = self._grants.listed().get(self._logins.key_of(entry, member))
        return grant is not None and not grant.ended and grant.changed_at > since

    async def open(self, text: str) -> OpenedLink | None:
        """Open a link; None if it is not ours, too old, used, or of somebody who is out."""
        data = self._seal().open(PURPOSE, "", text)
        if data is None:
            return None
        ticket = msgspec.msgpack.decode(data, type=Ticket)
        label = self._find_label(ticket.member)
        server = ServerId(ticket.server, ticket.source)
        entry = self._board.snapshot.entries.get(server)
        if not label or entry is None or time.time() - ticket.made_at > LINK_SECONDS:
            return None
        is_used = await self._has_arrived(server, ticket.member, ticket.secret, ticket.made_at)
        return None if is_used else OpenedLink(text, ticket, entry, label)

    # The browser that was shown to be the member's.

    def with_proof(self, text: str, tie: str) -> str:
        """Return the address of a link for the browser whose tie it is, and for no other."""
        proof = self._seal().seal(PROOF, _bound_to(text, tie), b"")
        return f"{self._base}{text}?proof={proof}"

    def has_proof(self, visit: LinkVisit) -> bool:
        """Tell whether a browser was shown to be that of the link's member."""
        owner = _bound_to(visit.text, visit.tie)
        return bool(visit.tie) and self._seal().open(PROOF, owner, visit.proof) is not None


def _bound_to(text: str, tie: str) -> str:
    return f"{tie} {text}"
