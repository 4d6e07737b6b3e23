"""Links to the pages on which members log in, or enter a secret: for one member, and once.

A link says in sealed words what it is for, so that any replica can serve it. It is used up as soon
as the credential is there. The page names the member: whoever it was not made for is told so.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from html import escape
from typing import Final, NamedTuple
from urllib.parse import parse_qsl

import msgspec

from toolyard.board import Board
from toolyard.core.errors import MemberSecretError, ToolyardError
from toolyard.core.model import MEMBER_LOGIN, Entry, ServerId
from toolyard.features.auth.logins import Logins
from toolyard.features.auth.store import Grants
from toolyard.features.secrets.model import check_value
from toolyard.links.refusals import AuthNeededError
from toolyard.records.follow import ChangeSignal
from toolyard.records.secrets.member_secrets import MemberSecrets
from toolyard.records.secrets.secret_files import SECRET_BYTES
from toolyard.relay.credential_asking import CredentialNeed
from toolyard.wire.seal import Seal

PURPOSE: Final = "member link"
LINK_SECONDS: Final = 900.0
FORM_BYTES: Final = 4 * SECRET_BYTES
LOOK_SECONDS: Final = 5.0
"""The longest pause between two looks whether a credential is there."""
HEAD: Final = (
    "<!doctype html><meta charset=utf-8><title>Toolyard</title>"
    "<meta name=viewport content='width=device-width'>"
    "<main style='font:1.1em sans-serif;margin:3em auto;max-width:34em;padding:0 1em'>"
)
USED: Final = "This link was used already, or is too old. Call the tool again to get another one."
DONE: Final = "That is all. You can close this page: the call goes on by itself."


class LinkPage(NamedTuple):
    """The answer to a browser: a page, or the place to go to."""

    status: int
    html: str
    location: str = ""


class Ticket(msgspec.Struct, frozen=True, array_like=True):
    """The words of a link."""

    member: str
    server: str
    source: str
    secret: str
    """The name of the secret to enter; empty for a login."""
    made_at: float


class MemberLinks:
    """Makes links, and serves the pages behind them; see `CredentialLinks`."""

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
        """Serve pages below `base`.

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

    # The pages.

    async def show(self, text: str) -> LinkPage:
        """Show the page of a link."""
        opened = await self._open(text)
        if opened is None:
            return _page(410, f"<p>{USED}")
        ticket, entry, label = opened
        return _page(200, _form(ticket, entry.alias, label))

    async def submit(self, text: str, body: bytes) -> LinkPage:
        """Take what a member entered, or lead them to the login page of the server."""
        opened = await self._open(text)
        if opened is None:
            return _page(410, f"<p>{USED}")
        ticket, entry, label = opened
        try:
            if not ticket.secret:
                page = await self._logins.begin(entry.alias, ticket.member)
                return LinkPage(303, "", page)
            value = _read_value(body)
            check_value(ticket.secret, value)
            await asyncio.to_thread(self._secrets.put, ticket.member, ticket.secret, value)
        except (ToolyardError, TimeoutError) as error:
            trouble = f"<p><b>{escape(str(error) or 'the server does not answer')}</b>"
            return _page(422, trouble + _form(ticket, entry.alias, label))
        return _page(200, f"<p>{DONE}")

    async def _open(self, text: str) -> tuple[Ticket, Entry, str] | None:
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
        return None if is_used else (ticket, entry, label)


def _read_value(body: bytes) -> str:
    if len(body) > FORM_BYTES:
        return ""
    pairs = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=4)
    return dict(pairs).get("value", "").replace("\r\n", "\n")


def _form(ticket: Ticket, alias: str, label: str) -> str:
    server, who = escape(alias), escape(label)
    warning = (
        f"<p>This is for <b>{who}</b>. Go on only if that is you, and you have just called a tool"
        f" of {server}. Otherwise close this page: somebody else would act in your name."
    )
    if not ticket.secret:
        return (
            f"<h1>Log in to {server}</h1>{warning}<form method=post>"
            f"<button>I am {who}: log in to {server}</button></form>"
        )
    name = escape(ticket.secret)
    return (
        f"<h1>{server} needs your secret {name}</h1>{warning}"
        "<p>It is kept sealed, and used for your own calls alone."
        f"<form method=post autocomplete=off><label>{name}<br>"
        "<input name=value type=password required autofocus></label> <button>Save</button></form>"
    )


def _page(status: int, html: str) -> LinkPage:
    return LinkPage(status, f"{HEAD}{html}</main>")
