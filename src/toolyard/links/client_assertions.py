"""Tokens by which a client proves with its key who it is (RFC 7523)."""

from __future__ import annotations

import secrets
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from toolyard.core.errors import ConfigError
from toolyard.installation import how_to_add

if TYPE_CHECKING:
    from joserfc.jwk import Key

SECONDS: Final = 60
_CURVES: Final = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}


def sign_assertion(client_id: str, private_key: str, audience: str) -> str:
    """Return a token that proves to an audience, for a minute, who a client is.

    Raises:
        ConfigError: The key cannot be used, or the package that signs is missing.
    """
    try:
        from joserfc import jwt
    except ImportError as error:
        raise ConfigError("signing needs the package 'joserfc'", how_to_add("team")) from error
    key, algorithm = _read_key(private_key)
    now = int(time.time())
    claims = {"iss": client_id, "sub": client_id, "aud": audience, "iat": now}
    claims |= {"exp": now + SECONDS, "jti": secrets.token_urlsafe(16)}
    return jwt.encode({"alg": algorithm}, claims, key, algorithms=[algorithm])


def _read_key(text: str) -> tuple[Key, str]:
    """The key in a text, and the algorithm that it signs with."""
    from joserfc.errors import JoseError
    from joserfc.jwk import ECKey, RSAKey

    with suppress(JoseError, ValueError, TypeError):
        return RSAKey.import_key(text), "RS256"
    with suppress(JoseError, ValueError, TypeError, KeyError):
        key = ECKey.import_key(text)
        return key, _CURVES[str(key.as_dict(private=False)["crv"])]
    hint = "give an RSA or EC key as PEM (PKCS #8)"
    raise ConfigError("the private key of the client cannot be read", hint)
