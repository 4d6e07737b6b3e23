"""Grants: what authorization servers issued to us, by the server it is for."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Final, Protocol
from urllib.parse import urlsplit, urlunsplit

from toolyard.core.endpoint import Url
from toolyard.records.secrets.secret_files import SecretPlace

AHEAD_MOST: Final = 300.0
AHEAD_PART: Final = 0.25
"""A token is renewed when a quarter of its life is left, and at most five minutes ahead."""


@dataclass(frozen=True, slots=True)
class OAuthGrant:
    """The tokens that let us in at one server, and what it takes to renew them."""

    url: str
    """The server, as `server_key` gives it."""
    issuer: str
    token_endpoint: str
    client: str = field(repr=False)
    """Our registration with the issuer, as JSON."""
    access_token: str = field(repr=False)
    refresh_token: str = field(default="", repr=False)
    resource: str = ""
    scope: str = ""
    issued_at: float = 0.0
    expires_at: float = 0.0
    """In seconds since 1970; 0 if nobody said."""
    member: str = ""
    """The key of the member whose login it is; empty for the hub's owner."""
    id_token: str = field(default="", repr=False)
    """The word of the hub's issuer on who the member is; empty for a login at a server."""
    id_expires_at: float = 0.0

    @property
    def key(self) -> str:
        """The key under which it is kept."""
        return grant_key(self.url, self.member)

    @property
    def refresh_at(self) -> float:
        """The time at which to renew it; 0 if it has no end."""
        life = self.expires_at - self.issued_at
        return self.expires_at - min(AHEAD_MOST, life * AHEAD_PART) if self.expires_at else 0.0


@dataclass(frozen=True, slots=True)
class ListedGrant:
    """A grant without its secrets."""

    url: str
    issuer: str
    place: SecretPlace
    expires_at: float = 0.0
    scope: str = ""
    ended: bool = False
    """It cannot be renewed: a person has to log in again."""
    changed_at: float = 0.0
    wanted: str = ""
    """The scope that its server asked for beyond this; the next login asks for both."""
    member: str = ""
    """The key of the member whose login it is; empty for the hub's owner."""

    @property
    def key(self) -> str:
        """The key under which it is kept."""
        return grant_key(self.url, self.member)


class GrantStore(Protocol):
    """The grants of the owner and of members, by `grant_key`. All of it blocks.

    Each function raises `StoreError` or `SecretError` where the grants cannot be read or written.
    """

    def revision(self) -> object:
        """Another value as soon as a grant is another."""
        ...

    def listed(self) -> Mapping[str, ListedGrant]:
        """Return all grants without their secrets."""
        ...

    def hold(self, key: str) -> AbstractContextManager[None]:
        """Be the only one who renews a grant: two that use one refresh token lose it."""
        ...

    def read(self, key: str) -> OAuthGrant | None:
        """Return the grant of a key, if there is one."""
        ...

    def write(self, grant: OAuthGrant) -> ListedGrant:
        """Keep a grant in the place of any other of its key."""
        ...

    def end(self, key: str) -> None:
        """Note that a grant cannot be renewed."""
        ...

    def forget(self, member: str) -> None:
        """Delete all grants of a member."""
        ...

    def want(self, key: str, scope: str) -> None:
        """Note that a server asks for more than its grant allows."""
        ...


def server_key(url: str) -> str:
    """Return a server's address without what may be secret or differ by spelling."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2].lower()
    return urlunsplit((parts.scheme.lower(), host, parts.path or "/", "", ""))


def grant_key(url: str, member: str = "") -> str:
    """Return the key of a login: its server, and the member whose it is; no address has a blank."""
    url = server_key(url)
    return f"{url} {hashlib.sha256(member.encode()).hexdigest()[:32]}" if member else url


def identity_url(issuer: str) -> str:
    """Return what stands for the hub's issuer in grants; no server has such an address."""
    return f"identity:{issuer}"


def login_key(endpoint: Url, member: str, issuer: str) -> str:
    """Return the key of the login by which a member enters an address: there, or at the issuer."""
    return grant_key(identity_url(issuer) if is_vouched_for(endpoint) else endpoint.url, member)


def is_vouched_for(endpoint: Url) -> bool:
    """Tell whether the hub's issuer vouches for whoever enters an address."""
    return endpoint.auth is not None and endpoint.auth.is_personal


def join_scopes(*scopes: str) -> str:
    """Return all words of these scopes, each once, in the order they come."""
    return " ".join(dict.fromkeys(" ".join(scopes).split()))
