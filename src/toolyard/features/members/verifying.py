"""Tells whether a token is one that the issuer made for this hub, and whom it describes."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Any, Final

import msgspec
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jws import JWSRegistry
from msgspec import Meta, Struct

from toolyard.features.members.issuer import Key, TokenIssuer
from toolyard.features.members.model import GROUPS, LONGEST, Person

ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
)
"""Signatures with a key pair. None is made with a secret: whoever can check it could make it."""
LEEWAY: Final = 60.0
"""Seconds by which the clocks of the issuer and of this hub may differ."""
TOKEN_BYTES: Final = 16 * 1024
HEADER_BYTES: Final = 2048
_TYPES: Final = ("", "jwt", "at+jwt", "application/at+jwt")
_LATEST: Final = 1e11
"""A time far beyond any token's, in seconds; it also turns away what is no number."""
Seconds = Annotated[float, Meta(ge=0, le=_LATEST)]


class InvalidTokenError(Exception):
    """A token that lets nobody in; the text is for whoever brought it."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.hint = hint
        """The action for a keeper, of a token that the issuer did sign; else empty."""


class UnknownKeyError(InvalidTokenError):
    """The key that a token names is not known; the issuer may have a new one."""


class TokenHeader(Struct, frozen=True):
    """The part of a token's header that the hub goes by; addresses of keys in it are ignored."""

    alg: str
    kid: Annotated[str, Meta(max_length=LONGEST)] = ""
    typ: str = ""


class Claims(Struct, frozen=True):
    """What a token claims."""

    iss: str
    sub: Annotated[str, Meta(min_length=1, max_length=LONGEST)]
    aud: str | list[str]
    exp: Seconds
    iat: Seconds
    nbf: Seconds = 0.0
    scope: str | list[str] = ""
    scp: str | list[str] = ""
    email: str | None = None
    email_verified: bool | str | None = None
    name: str | None = None
    toolyard_grant: str = ""


class VerifiedToken(Struct, frozen=True):
    """A token that the issuer made, and that is good now."""

    person: Person
    expires: float
    audiences: tuple[str, ...]
    scopes: frozenset[str]
    has_odd_groups: bool = False
    """The claim of the groups is there, and is no list of texts."""
    has_no_groups: bool = False
    """The claim of the groups is not there."""
    grant: str = ""
    """The login at the hub's own server that it came of."""


class _LongHeaders(JWSRegistry):
    max_header_length = HEADER_BYTES


_REGISTRY: Final = _LongHeaders(algorithms=ALGORITHMS, strict_check_header=False)


def verify_token(token: bytes, issuer: TokenIssuer, groups_claim: str, now: float) -> VerifiedToken:
    """Verify all of a token but whom it is for.

    Raises:
        UnknownKeyError: The issuer has to be asked for its keys first.
        InvalidTokenError: It lets nobody in.
    """
    if len(token) > TOKEN_BYTES:
        raise InvalidTokenError("the token is too long")
    header = _read_header(token)
    if header.alg not in ALGORITHMS or header.typ.lower() not in _TYPES:
        raise InvalidTokenError("the token is not signed in a way that this hub accepts")
    key = issuer.find(header.kid, header.alg)
    if key is None:
        raise UnknownKeyError(
            "the token is signed with a key that its issuer does not have; log in again"
        )
    plain = _check_signature(token, key)
    try:
        claims = msgspec.convert(plain, Claims)
    except msgspec.ValidationError as error:
        hint = "have the issuer write iss, sub, aud, iat and exp into its access tokens"
        raise InvalidTokenError(f"the token lacks a claim: {error}", hint) from error
    _check_claims(claims, issuer.url, now)
    return _describe(claims, plain.get(groups_claim))


def _read_header(token: bytes) -> TokenHeader:
    first = token.partition(b".")[0]
    if token.count(b".") != 2 or len(first) > 2 * HEADER_BYTES:
        raise InvalidTokenError("the token is not one of its issuer")
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(first + b"==="), type=TokenHeader)
    except (binascii.Error, msgspec.DecodeError, RecursionError) as error:
        raise InvalidTokenError("the token is not one of its issuer") from error


def _check_signature(token: bytes, key: Key) -> dict[str, Any]:
    try:
        return jwt.decode(token, key, registry=_REGISTRY).claims
    except (JoseError, ValueError, TypeError, RecursionError) as error:
        raise InvalidTokenError("the signature of the token is not its issuer's") from error


def _check_claims(claims: Claims, issuer: str, now: float) -> None:
    if claims.iss != issuer:
        text = f"the token is of another issuer; this hub trusts {issuer}"
        hint = "write TOOLYARD_ISSUER exactly as the claim 'iss' of its tokens, or change clients"
        raise InvalidTokenError(text, hint)
    if claims.exp + LEEWAY <= now:
        raise InvalidTokenError("the token has expired; log in again")
    if max(claims.nbf, claims.iat) > now + LEEWAY:
        text = (
            "the token is not valid yet: the clocks of the issuer and of this hub differ by more"
            f" than {LEEWAY:g} s"
        )
        raise InvalidTokenError(text, "set both clocks, for instance with NTP")
    if not claims.sub.isprintable():
        hint = "have the issuer write visible characters into 'sub'"
        raise InvalidTokenError("the subject of the token cannot be used", hint)


def _describe(claims: Claims, groups: Any) -> VerifiedToken:
    is_verified = claims.email_verified not in (False, "false")
    names = _names(groups)
    person = Person(
        claims.iss,
        claims.sub,
        claims.iat,
        _short(claims.email) if is_verified else "",
        _short(claims.name),
        names or (),
    )
    return VerifiedToken(
        person,
        claims.exp + LEEWAY,
        tuple(_texts(claims.aud)),
        frozenset((*_words(claims.scope), *_words(claims.scp))),
        names is None,
        groups is None,
        claims.toolyard_grant,
    )


def _names(groups: Any) -> tuple[str, ...] | None:
    """The groups that a claim names; None if it has a shape that says nothing."""
    if groups is None:
        return ()
    if isinstance(groups, str):
        groups = [groups]
    if not isinstance(groups, list) or not all(isinstance(group, str) for group in groups):
        return None
    return tuple(sorted({group for group in groups[:GROUPS] if 0 < len(group) <= LONGEST}))


def _texts(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _words(value: str | list[str]) -> list[str]:
    return [word for text in _texts(value) for word in text.split()]


def _short(text: str | None) -> str:
    return text if text is not None and len(text) <= LONGEST and text.isprintable() else ""
