"""Renews a grant: one request to whoever issued it, with nothing but what it needs."""

from __future__ import annotations

import asyncio
import base64
import time
from dataclasses import replace
from typing import Final
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from toolyard.core.errors import LinkError
from toolyard.core.jsontypes import JsonObject
from toolyard.links.addresses import Reach
from toolyard.links.grants import OAuthGrant
from toolyard.links.refusals import AuthNeededError
from toolyard.wire.http1 import Headers, HttpTarget, Pool, parse_address
from toolyard.wire.pieces import Pieces

SECONDS: Final = 20.0
ANSWER_LIMIT: Final = 256 * 1024
LATER: Final = frozenset({408, 425, 429})
"""Refusals that say: not now."""


class Answer:
    """Collects one answer."""

    def __init__(self) -> None:
        self.status = 0
        self.over: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._body = Pieces()

    def head(self, status: int, headers: Headers) -> None:
        """Note the status."""
        self.status = status

    def body(self, chunk: bytes) -> None:
        """Keep a piece, up to what an answer may have."""
        self._body.add(chunk[: ANSWER_LIMIT - self._body.size])

    def done(self) -> None:
        """It is complete."""
        if not self.over.done():
            self.over.set_result(self._body.take())

    def lost(self, why: str) -> None:
        """It will not be."""
        if not self.over.done():
            self.over.set_exception(LinkError(why))


async def refresh(grant: OAuthGrant) -> OAuthGrant:
    """Return the grant with new tokens.

    Raises:
        AuthNeededError: The issuer refuses: a person has to log in again.
        LinkError: The issuer cannot be reached, must not be, or is not able to now.
    """
    try:
        async with asyncio.timeout(SECONDS):
            status, reply = await _send(grant, await _judged(grant))
    except TimeoutError:
        raise LinkError(f"{grant.issuer} did not renew a login within {SECONDS:g} s") from None
    if status == 200:
        return _renewed(grant, reply)
    if 400 <= status < 500 and status not in LATER:
        raise _ended(grant, status)
    raise LinkError(f"{grant.issuer} could not renew a login (HTTP {status})")


async def _send(grant: OAuthGrant, address: HttpTarget) -> tuple[int, bytes]:
    """Ask the issuer; gives the status and the body of its answer."""
    head, body = _request(grant, address.authority, address.target)
    pool, answer = Pool(address), Answer()
    try:
        pool.send(head + body, answer)
        reply = await answer.over
        return answer.status, reply
    finally:
        await pool.close()


async def _judged(grant: OAuthGrant) -> HttpTarget:
    """The address to renew it at, judged anew: its name may lead elsewhere than at the login."""
    try:
        address = parse_address(grant.token_endpoint)
    except ValueError as error:
        raise _ended(grant, 0) from error
    parts = urlsplit(grant.token_endpoint)
    addresses = await Reach(grant.url).addresses(parts.scheme, address.host, parts.port)
    return address._replace(resolved=tuple(addresses))


def _request(grant: OAuthGrant, authority: str, target: str) -> tuple[bytes, bytes]:
    client = _client(grant)
    fields = {
        "grant_type": "refresh_token",
        "refresh_token": grant.refresh_token,
        "client_id": str(client.get("client_id", "")),
    }
    if grant.resource:
        fields["resource"] = grant.resource
    secret, method = client.get("client_secret"), client.get("token_endpoint_auth_method")
    extra = ""
    if secret and method == "client_secret_basic":
        pair = f"{quote(fields['client_id'], safe='')}:{quote(secret, safe='')}"
        extra = f"authorization: Basic {base64.b64encode(pair.encode()).decode()}\r\n"
    elif secret and method == "client_secret_post":
        fields["client_secret"] = secret
    body = urlencode(fields).encode()
    head = (
        f"POST {target} HTTP/1.1\r\nhost: {authority}\r\n{extra}accept: application/json\r\n"
        f"content-type: application/x-www-form-urlencoded\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode("latin-1"), body


def _renewed(grant: OAuthGrant, reply: bytes) -> OAuthGrant:
    try:
        fields = msgspec.json.decode(reply)
    except msgspec.DecodeError:
        fields = None
    token = fields.get("access_token") if isinstance(fields, dict) else None
    # A token with a line end in it would become a header of its own.
    if not isinstance(token, str) or not token or not all("!" <= char <= "~" for char in token):
        raise LinkError(f"{grant.issuer} renewed a login without a token")
    now, life = time.time(), fields.get("expires_in")
    lasts = float(life) if isinstance(life, int | float) and life > 0 else 0.0
    return replace(
        grant,
        access_token=token,
        # Both may be left out when they stay as they were.
        refresh_token=_text(fields.get("refresh_token")) or grant.refresh_token,
        scope=_text(fields.get("scope")) or grant.scope,
        issued_at=now,
        expires_at=now + lasts if lasts else 0.0,
    )


def _client(grant: OAuthGrant) -> JsonObject:
    client = msgspec.json.decode(grant.client or "{}")
    return client if isinstance(client, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _ended(grant: OAuthGrant, status: int) -> AuthNeededError:
    return AuthNeededError(f"{grant.issuer} does not renew the login", status)
