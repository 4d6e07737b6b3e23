"""The pages behind the links of members, served to the member that a link was made for.

Whoever opens a link shows first who they are: with the key of a page that they have logged in on,
or by logging in at the hub's issuer. Otherwise a member could send their link to somebody else, who
would give them a credential of their own.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import parse_qsl

from toolyard.core.caller import TurnedAway
from toolyard.core.errors import ToolyardError
from toolyard.core.model import Url
from toolyard.core.open_pages import TIE_LONGEST, TIE_SHORTEST, LinkVisit
from toolyard.features.auth.logins import Logins
from toolyard.features.auth.member_links import MemberLinks, OpenedLink
from toolyard.features.secrets.model import check_value
from toolyard.links.grants import is_vouched_for
from toolyard.records.secrets.member_secrets import MemberSecrets
from toolyard.records.secrets.secret_files import SECRET_BYTES

if TYPE_CHECKING:
    from toolyard.features.members.page_login import PageLogins

FORM_BYTES: Final = 4 * SECRET_BYTES
HEAD: Final = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>Toolyard</title>"
    "<meta name=viewport content='width=device-width'>"
    "<script src=/ui/assets/link.js type=module></script>"
    "<main style='font:1.1em sans-serif;margin:3em auto;max-width:34em;padding:0 1em'>"
)
USED: Final = "This link was used already, or is too old. Call the tool again to get another one."
DONE: Final = "That is all. You can close this page: the call goes on by itself."


class LinkPage(NamedTuple):
    """The answer to a browser: a page, or the place to go to."""

    status: int
    html: str
    location: str = ""
    tie: str = ""
    """The secret that the browser is to keep; empty if it keeps what it has."""


class MemberLinkPages:
    """Serves the pages of links."""

    def __init__(
        self, links: MemberLinks, logins: Logins, kept: MemberSecrets, people: PageLogins
    ) -> None:
        """Log in with `logins`, keep secrets in `kept`; `people` tells who a visitor is."""
        self._links = links
        self._logins = logins
        self._kept = kept
        self._people = people

    async def show(self, visit: LinkVisit) -> LinkPage:
        """Show the page of a link."""
        link = await self._links.open(visit.text)
        if link is None:
            return _page(410, f"<p>{USED}")
        return _page(200, _form(link) if self._may_go_on(link, visit) else _question(link))

    async def submit(self, visit: LinkVisit, body: bytes) -> LinkPage:
        """Find out who is there; lead the link's member on, or take what they entered."""
        link = await self._links.open(visit.text)
        if link is None:
            return _page(410, f"<p>{USED}")
        if self._may_go_on(link, visit):
            return await self._go_on(link, visit.tie, body)
        tie = _tie_of(visit)
        if not visit.bearer:
            return await self._ask_issuer(link, tie)
        if self._people.find_member(visit.bearer) != link.ticket.member:
            return _page(403, _refusal(link, "You are logged in to this hub as somebody else."))
        return LinkPage(303, "", self._links.with_proof(link.text, tie), tie)

    async def come_back(self, brought: Mapping[str, str], tie: str) -> LinkPage:
        """Go on with a visitor who has logged in at the issuer, if they are the link's member."""
        visitor = await self._people.prove(brought, tie)
        if isinstance(visitor, TurnedAway):
            return _page(visitor.status, f"<p>{_sentence(visitor.text)}")
        link = await self._links.open(visitor.link)
        if link is None:
            return _page(410, f"<p>{USED}")
        if visitor.member != link.ticket.member:
            return _page(403, _refusal(link, f"You are logged in as {visitor.label}."))
        if link.ticket.secret:
            return LinkPage(303, "", self._links.with_proof(link.text, tie))
        return await self._go_on(link, tie, b"")

    def _may_go_on(self, link: OpenedLink, visit: LinkVisit) -> bool:
        """Tell whether the visitor is the member, or can give nothing to anybody but themselves."""
        return _is_login_at_issuer(link) or self._links.has_proof(visit)

    async def _ask_issuer(self, link: OpenedLink, tie: str) -> LinkPage:
        place = await self._people.begin_at_link(tie, link.text)
        if isinstance(place, TurnedAway):
            return _page(place.status, f"<p><b>{_sentence(place.text)}</b>{_question(link)}")
        return LinkPage(303, "", place.url, tie)

    async def _go_on(self, link: OpenedLink, tie: str, body: bytes) -> LinkPage:
        ticket = link.ticket
        try:
            if not ticket.secret:
                page = await self._logins.begin(link.entry.alias, ticket.member, tie)
                return LinkPage(303, "", page)
            value = _read_value(body)
            check_value(ticket.secret, value)
            await asyncio.to_thread(self._kept.put, ticket.member, ticket.secret, value)
        except (ToolyardError, TimeoutError) as error:
            trouble = f"<p><b>{escape(str(error) or 'the server does not answer')}</b>"
            return _page(422, trouble + _form(link))
        return _page(200, f"<p>{DONE}")


def _is_login_at_issuer(link: OpenedLink) -> bool:
    """Tell whether the login is the one on the page, which is of nobody but whoever logs in."""
    endpoint = link.entry.server.endpoint
    return not link.ticket.secret and isinstance(endpoint, Url) and is_vouched_for(endpoint)


def _tie_of(visit: LinkVisit) -> str:
    """The browser's tie, or a new one: links that are open in two tabs share it."""
    is_tie = TIE_SHORTEST <= len(visit.tie) <= TIE_LONGEST
    return visit.tie if is_tie else secrets.token_urlsafe(32)


def _read_value(body: bytes) -> str:
    if len(body) > FORM_BYTES:
        return ""
    pairs = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=4)
    return dict(pairs).get("value", "").replace("\r\n", "\n")


def _question(link: OpenedLink) -> str:
    """Ask whoever opened a link to show who they are."""
    server, who = escape(link.entry.alias), escape(link.label)
    return (
        f"{_title(link)}<p>This page is for <b>{who}</b>, who has called a tool of {server}."
        " Log in to this hub to confirm that this is you."
        f"<form method=post><button>Continue as {who}</button></form>"
    )


def _form(link: OpenedLink) -> str:
    server, who = escape(link.entry.alias), escape(link.label)
    if not link.ticket.secret:
        return (
            f"{_title(link)}<p>The login is used for the calls of <b>{who}</b> alone."
            f"<form method=post><button>Log in to {server}</button></form>"
        )
    name = escape(link.ticket.secret)
    return (
        f"{_title(link)}<p>It is kept sealed, and used for the calls of <b>{who}</b> alone."
        f"<form method=post autocomplete=off><label>{name}<br>"
        "<input name=value type=password required autofocus></label> <button>Save</button></form>"
    )


def _title(link: OpenedLink) -> str:
    server, secret = escape(link.entry.alias), escape(link.ticket.secret)
    text = f"{server} needs your secret {secret}" if secret else f"Log in to {server}"
    return f"<h1>{text}</h1>"


def _refusal(link: OpenedLink, text: str) -> str:
    return (
        f"<h1>This link is not for you</h1><p>{escape(text)} The link is for"
        f" <b>{escape(link.label)}</b>, and nothing was kept. If that is you, too, log out of the"
        " other account and open the link again. If somebody sent you the link, tell the keeper of"
        " this hub."
    )


def _sentence(text: str) -> str:
    return escape(f"{text[:1].upper()}{text[1:]}.")


def _page(status: int, html: str) -> LinkPage:
    return LinkPage(status, f"{HEAD}{html}</main>")
