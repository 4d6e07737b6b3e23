"""The hub as its own issuer: it signs with keys that are made from one secret.

Replicas share that secret, so each verifies what any of them signed, and nobody has to be asked.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from joserfc import jwt
from joserfc.jwk import OKPKey
from msgspec import UNSET, Struct, UnsetType

from toolyard.core.errors import ConfigError, StoreError
from toolyard.features.members.issuer import Key
from toolyard.records.files import locked, read_bounded, write_atomic
from toolyard.settings import KEY_SHORTEST, Settings

AUTHORIZE: Final = "/authorize"
CONSENT: Final = "/authorize/consent"
TOKEN: Final = "/token"  # noqa: S105 - a path
REGISTER: Final = "/register"
REVOKE: Final = "/revoke"
INVITATION: Final = "/invitation"
KEY_SET: Final = "/.well-known/jwks.json"
ALGORITHM: Final = "Ed25519"
KEY_FILE: Final = "login-key"
_KEY_BYTES: Final = 32
_LONGEST: Final = 1024
_DERIVED: Final = b"toolyard token signing"
"""Tells the key that signs from others that are made from the same secret."""


class ServerMetadata(Struct, frozen=True, kw_only=True):
    """The metadata of the hub as an authorization server (RFC 8414).

    Readers of OpenID's document refuse one without the two last fields.
    """

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    registration_endpoint: str
    revocation_endpoint: str
    jwks_uri: str
    scopes_supported: tuple[str, ...] | UnsetType = UNSET
    """The scopes that every client needs. The one to order with is not among them: clients ask for
    all that they find here."""
    response_types_supported: tuple[str, ...] = ("code",)
    response_modes_supported: tuple[str, ...] = ("query",)
    grant_types_supported: tuple[str, ...] = ("authorization_code", "refresh_token")
    code_challenge_methods_supported: tuple[str, ...] = ("S256",)
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("none",)
    revocation_endpoint_auth_methods_supported: tuple[str, ...] = ("none",)
    authorization_response_iss_parameter_supported: bool = True
    client_id_metadata_document_supported: bool
    subject_types_supported: tuple[str, ...] = ("public",)
    id_token_signing_alg_values_supported: tuple[str, ...] = (ALGORITHM,)


class OwnIssuer:
    """The issuer that a hub is for those who were invited."""

    def __init__(
        self, url: str, keys: Sequence[str], scopes: Sequence[str], *, documents: bool = True
    ) -> None:
        """Sign with the first of these keys, and believe all of them.

        Args:
            url: The address of the hub, as clients know it.
            scopes: The scopes that every client needs.
            documents: Clients may describe themselves at an address of theirs.
        """
        self.url = url
        self.scopes = tuple(scopes)
        self.takes_documents = documents
        self.metadata = msgspec.json.encode(_describe(url, self.scopes, documents=documents))
        self.trouble = ""
        self.keys = tuple(keys)
        """The secrets that all of its keys are made from."""
        self.ended: frozenset[str] = frozenset()
        """The logins that were revoked while tokens of theirs are still in use."""
        pairs = [_signing_key(key) for key in keys]
        self._signing = pairs[0]
        self._by_id = {str(pair.kid): pair for pair in pairs}

    def __repr__(self) -> str:
        return f"OwnIssuer({self.url!r})"

    def find(self, kid: str, alg: str) -> Key | None:
        """Return the key of that id."""
        return self._by_id.get(kid) if alg == ALGORITHM else None

    @property
    def may_ask(self) -> bool:
        """False: all keys are here."""
        return False

    async def ask(self) -> None:
        """Ask nobody."""

    def is_ended(self, grant: str) -> bool:
        """Tell whether a login was revoked."""
        return grant in self.ended

    def sign(self, claims: Mapping[str, Any]) -> str:
        """Return an access token that claims this."""
        header = {"alg": ALGORITHM, "kid": self._signing.kid, "typ": "at+jwt"}
        return jwt.encode(header, dict(claims), self._signing, algorithms=[ALGORITHM])

    def describe_keys(self) -> bytes:
        """Return the public keys as a set (RFC 7517)."""
        entries = [
            {**key.as_dict(private=False), "use": "sig", "alg": ALGORITHM}
            for key in self._by_id.values()
        ]
        return msgspec.json.encode({"keys": entries})


def read_own_keys(settings: Settings) -> tuple[str, ...]:
    """Return the secrets that the hub's keys are made from: those that replicas share, or its own.

    Raises:
        ConfigError: Hubs share a database, and no key.
        StoreError: The file of the hub's own secret cannot be used.
    """
    if settings.key:
        return settings.key
    if settings.database:
        text = "hubs that share a database cannot let people log in without a key that they share"
        raise ConfigError(text, "set TOOLYARD_KEY to the same value at all of them")
    file = settings.state_dir / KEY_FILE
    with suppress(FileNotFoundError):
        return (_read_key(file),)
    with locked(file):  # of two that make one, the second must take the first's
        with suppress(FileNotFoundError):
            return (_read_key(file),)
        key = secrets.token_urlsafe(_KEY_BYTES)
        write_atomic(file, key.encode() + b"\n")
        return (key,)


def _read_key(file: Path) -> str:
    key = read_bounded(file, _LONGEST).decode("ascii", "replace").strip()
    if len(key) < KEY_SHORTEST:
        raise StoreError(f"'{file}' holds no key", "delete it; everybody then logs in again")
    return key


def _describe(url: str, scopes: Sequence[str], *, documents: bool) -> ServerMetadata:
    return ServerMetadata(
        issuer=url,
        authorization_endpoint=url + AUTHORIZE,
        token_endpoint=url + TOKEN,
        registration_endpoint=url + REGISTER,
        revocation_endpoint=url + REVOKE,
        jwks_uri=url + KEY_SET,
        scopes_supported=tuple(scopes) or UNSET,
        client_id_metadata_document_supported=documents,
    )


def _signing_key(secret: str) -> OKPKey:
    derive = HKDF(SHA256(), length=32, salt=None, info=_DERIVED)
    private = Ed25519PrivateKey.from_private_bytes(derive.derive(secret.encode()))
    key = OKPKey.import_key(private)
    key.ensure_kid()
    return key
