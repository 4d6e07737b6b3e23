"""The person that a login is for, and the tools that it opens, as the hub says."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Final

import msgspec

from toolyard.core.errors import LinkError
from toolyard.links.greeting import ENVELOPE
from toolyard.links.issuer_http import IssuerHttp
from toolyard.wire import era, jsonrpc

LISTING: Final = "tools/list"
PAGES: Final = 50
"""Pages of the list that are read; a hub has a few."""


class PersonClaims(msgspec.Struct, frozen=True):
    """The claims of an access token by which people know themselves."""

    email: str = ""
    preferred_username: str = ""
    name: str = ""
    sub: str = ""


class _Tool(msgspec.Struct, frozen=True):
    name: str


class _Listed(msgspec.Struct, frozen=True):
    tools: list[_Tool]
    nextCursor: str = ""  # noqa: N815 - its name on the wire


class _Listing(msgspec.Struct, frozen=True):
    result: _Listed


@dataclass(frozen=True, slots=True)
class HubAccount:
    """Somebody at a hub."""

    person: str
    """The name of the person; empty if their token does not tell."""
    tools: tuple[str, ...] | None
    """The names of the tools they may use; None if the hub did not tell."""


async def look_up(door: str, token: str) -> HubAccount:
    """Ask a hub what a token opens."""
    try:
        tools = await _list_tools(IssuerHttp(door), door, token)
    except (LinkError, msgspec.MsgspecError):
        tools = None  # the login is good all the same
    return HubAccount(read_person(token), tools)


def read_person(token: str) -> str:
    """Return whose token it is, by its own words: for people to read, and to decide nothing."""
    body = token.split(".")[1] if token.count(".") == 2 else ""
    try:
        raw = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))
        claims = msgspec.json.decode(raw, type=PersonClaims)
    except (ValueError, msgspec.MsgspecError):
        return ""
    return claims.email or claims.preferred_username or claims.name or claims.sub


async def _list_tools(http: IssuerHttp, door: str, token: str) -> tuple[str, ...]:
    headers = {
        "accept": "application/json",
        "content-type": "application/json",
        "mcp-protocol-version": era.MODERN,
        "mcp-method": LISTING,
        "authorization": f"Bearer {token}",
    }
    names: list[str] = []
    cursor = ""
    for _ in range(PAGES):
        params = {"_meta": ENVELOPE, **({"cursor": cursor} if cursor else {})}
        message = {"jsonrpc": "2.0", "id": 1, "method": LISTING, "params": params}
        reply = await http.send("POST", door, headers, jsonrpc.encode(message))
        listed = msgspec.json.decode(reply.body, type=_Listing).result
        names += [tool.name for tool in listed.tools]
        cursor = listed.nextCursor
        if not cursor:
            break
    return tuple(names)
