"""Logins at the hub's own server: the values that travel sealed, and those that are kept."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from toolyard.wire.seal import Seal, room_in

LOGIN_SECONDS: Final = 900.0
"""The time for a person to enter a password, and again to decide."""
CODE_SECONDS: Final = 60.0
ACCESS_SECONDS: Final = 600.0
IDLE_SECONDS: Final = 30 * 86400.0
"""A client that does not come for so long has to log in again."""
SEALED_LONGEST: Final = 24 * 1024
"""Characters of what a form, or a code, carries."""
Value = TypeVar("Value", bound=Struct)


class OAuthError(Exception):
    """A refusal in the words of OAuth: a code for the client, and a text for people."""

    def __init__(self, code: str, text: str, status: int = 400) -> None:
        super().__init__(text)
        self.code, self.status = code, status


class LoginClient(Struct, frozen=True):
    """A program that wants to act for a person."""

    id: str
    name: str
    """As it calls itself."""
    redirects: tuple[str, ...]
    registered_at: float = 0.0
    is_described: bool = False
    """The document at its id, which is an address, says all of this; else it was claimed."""


class AuthorizationRequest(Struct, frozen=True):
    """A client's wish, as it was checked."""

    client: str
    """Its id."""
    client_name: str
    is_described: bool
    redirect: str
    state: str | None
    challenge: str
    resource: str
    scopes: tuple[str, ...]
    expires: float


class ClientConsent(Struct, frozen=True):
    """A wish, and the person who is asked to agree to it."""

    request: AuthorizationRequest
    subject: str
    grant: str
    """The id of the grant that comes of it; there is one at most."""
    expires: float


class AuthorizationCode(Struct, frozen=True):
    """A person's consent, for one client to fetch."""

    grant: str
    subject: str
    client: str
    """The digest of its id."""
    client_name: str
    redirect: str
    challenge: str
    resource: str
    scopes: tuple[str, ...]
    agreed_at: float
    expires: float


class ClientAuthorization(Struct, frozen=True, omit_defaults=True):
    """A client that acts for a person, until either ends it; secrets are kept as digests."""

    subject: str
    client: str
    client_name: str
    redirect_host: str
    resource: str
    scopes: tuple[str, ...]
    began_at: float
    used_at: float
    expires_at: float
    refresh: str
    ended_at: float = 0.0
    ended_why: str = ""

    @property
    def is_alive(self) -> bool:
        """True unless it was ended."""
        return not self.ended_at


def seal_value(seal: Seal, purpose: str, value: Struct) -> str:
    """Return a text that only this hub, or a replica, reads as that value."""
    return seal.seal(purpose, "", msgspec.json.encode(value), SEALED_LONGEST)


def open_value(seal: Seal, purpose: str, text: str, kind: type[Value]) -> Value | None:
    """Return the value that a text carries; None if it was not sealed for this purpose."""
    data = seal.open(purpose, "", text, SEALED_LONGEST)
    if data is None:
        return None
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.DecodeError:
        return None


def fits_seal(value: Struct) -> bool:
    """Tell whether a value is small enough to travel, with room for what is added to it."""
    return len(msgspec.json.encode(value)) <= room_in(SEALED_LONGEST) - 1024


def digest(text: str) -> str:
    """Return the digest by which a secret, or a long text, is known again."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def is_same(one: str, other: str) -> bool:
    """Compare two texts in a time that tells nothing about them."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def challenge_of(verifier: str) -> str:
    """Return the challenge of a PKCE verifier, by S256."""
    raw = hashlib.sha256(verifier.encode("ascii", "replace")).digest()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
