"""Requests to a token endpoint: how a client proves who it is, and how the answer is read."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import quote

import msgspec

from toolyard.core.errors import LinkError
from toolyard.core.jsontypes import JsonObject
from toolyard.links.client_assertions import sign_assertion
from toolyard.links.issuer_http import IssuerHttp, IssuerReply
from toolyard.links.refusals import TokensRefusedError
from toolyard.records.secrets.mask import MASK

LATER: Final = frozenset({408, 425, 429})
"""Refusals that say: not now."""
ASSERTION: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
Method = Literal["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]
PREFERRED: Final[tuple[Method, ...]] = ("none", "client_secret_post", "client_secret_basic")
"""The ways to prove to an issuer who a client is, best first: a program on the user's machine keeps
no secret, so it has none where that is allowed."""
DEFAULT: Final = ("client_secret_basic",)
"""The ways of an issuer that names none (RFC 8414, section 2)."""


def choose_method(offered: object, *, has_secret: bool = False) -> Method | None:
    """The way to prove who we are that suits us best; None if none of the offered ones does."""
    ways = offered if isinstance(offered, list) and offered else DEFAULT
    return next((way for way in PREFERRED[has_secret:] if way in ways), None)


@dataclass(frozen=True, slots=True)
class ClientProof:
    """A client as an issuer knows it, and how it proves that it is that one."""

    id: str
    secret: str = field(default="", repr=False)
    method: str = "none"
    private_key: str = field(default="", repr=False)
    """A key in PEM, for `private_key_jwt`."""

    def apply(self, form: dict[str, str], audience: str) -> dict[str, str]:
        """Add the proof to a form; return the headers that it takes.

        Args:
            audience: The issuer, which an assertion is for.
        """
        form["client_id"] = self.id
        if self.method == "client_secret_basic" and self.secret:
            pair = f"{quote(self.id, safe='')}:{quote(self.secret, safe='')}"
            return {"authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
        if self.method == "client_secret_post" and self.secret:
            form["client_secret"] = self.secret
        elif self.method == "private_key_jwt":
            form["client_assertion_type"] = ASSERTION
            form["client_assertion"] = sign_assertion(self.id, self.private_key, audience)
        return {}


@dataclass(frozen=True, slots=True)
class IssuedTokens:
    """Tokens as an issuer gave them out."""

    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    scope: str
    issued_at: float
    expires_at: float
    """In seconds since 1970; 0 if nobody said."""
    id_token: str = field(default="", repr=False)


async def request_tokens(
    http: IssuerHttp,
    issuer: str,
    endpoint: str,
    client: ClientProof,
    form: Mapping[str, str],
) -> IssuedTokens:
    """Ask an issuer for tokens.

    Raises:
        TokensRefusedError: It refuses.
        LinkError: It cannot be reached, must not be, or is not able to now.
        ConfigError: The key of the client cannot be used.
    """
    return read_tokens(issuer, await post_grant(http, issuer, endpoint, client, form))


async def post_grant(
    http: IssuerHttp,
    issuer: str,
    endpoint: str,
    client: ClientProof,
    form: Mapping[str, str],
) -> JsonObject:
    """Ask an issuer for tokens; return the members of its answer. Raises as `request_tokens`."""
    fields = {name: value for name, value in form.items() if value}
    headers = client.apply(fields, issuer)
    reply = await http.post_form(endpoint, fields, headers)
    if reply.status == 200:
        return reply.fields()
    if 400 <= reply.status < 500 and reply.status not in LATER:
        text = f"{issuer} refuses tokens: {_reason(reply)}"
        raise TokensRefusedError(text, reply.status, _text(reply.fields().get("error")))
    raise LinkError(
        f"{issuer} could not give tokens (HTTP {reply.status})", "try again in a moment"
    )


def read_tokens(issuer: str, fields: JsonObject) -> IssuedTokens:
    """Read the tokens in an answer.

    Raises:
        LinkError: There are none.
    """
    token = read_token(issuer, fields)
    now, life = time.time(), fields.get("expires_in")
    lasts = float(life) if isinstance(life, int | float) and life > 0 else 0.0
    again, identity = _text(fields.get("refresh_token")), _text(fields.get("id_token"))
    MASK.add(again, renewed=True)
    MASK.add(identity, renewed=True)
    ends = now + lasts if lasts else 0.0
    return IssuedTokens(token, again, _text(fields.get("scope")), now, ends, identity)


def read_token(issuer: str, fields: JsonObject) -> str:
    """The access token in an answer. Raises as `read_tokens`."""
    token = fields.get("access_token")
    # A token with a line end in it would become a header of its own.
    if not isinstance(token, str) or not token or not all("!" <= char <= "~" for char in token):
        raise LinkError(f"{issuer} answered without a token")
    MASK.add(token, renewed=True)
    return token


def _reason(reply: IssuerReply) -> str:
    """The reason that an issuer gives, in one line and without secrets."""
    fields = reply.fields()
    words = _text(fields.get("error_description")) or _text(fields.get("error"))
    shown = " ".join(MASK.hide(words).split())[:200]
    return f"{shown or 'no reason given'} (HTTP {reply.status})"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def read_client(registration: str) -> JsonObject:
    """Read a registration with an issuer, as grants keep it."""
    client = msgspec.json.decode(registration or "{}")
    return client if isinstance(client, dict) else {}
