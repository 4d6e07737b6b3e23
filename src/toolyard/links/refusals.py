"""Refusals over HTTP: a status, and the challenge that says what would help."""

from __future__ import annotations

import re
from typing import Final

from toolyard.core.errors import LinkError
from toolyard.wire.http1 import Headers

SCOPE_LIMIT: Final = 1024
"""Characters of a scope that a server may ask for."""
_BEARER: Final = re.compile(rb"(?:^|,)\s*bearer\b", re.IGNORECASE)
_LACKS_SCOPE: Final = re.compile(rb'\berror\s*=\s*"?insufficient_scope\b', re.IGNORECASE)
_SCOPE: Final = re.compile(rb'(?:^|[\s,])scope\s*=\s*(?:"([^"]*)"|([^\s,"]+))', re.IGNORECASE)
_SCOPE_TOKEN: Final = re.compile(r"[!#-\[\]-~]+")
"""A scope is words of these characters (RFC 6749, section 3.3)."""


class HttpStatusError(LinkError):
    """The server answered with an HTTP error and nothing we can read."""

    def __init__(self, text: str, status: int, hint: str = "") -> None:
        super().__init__(text, hint)
        self.status = status


class AuthNeededError(HttpStatusError):
    """The server lets nobody in who has not logged in; asking again does not help."""


class TokensRefusedError(AuthNeededError):
    """An issuer gives no tokens for what it was shown."""

    def __init__(self, text: str, status: int, code: str) -> None:
        super().__init__(text, status)
        self.code = code
        """Its reason, as RFC 6749 names it; empty if it gave none."""


class ScopeNeededError(AuthNeededError):
    """The login is good, but not for this: a person has to agree to more."""

    def __init__(self, text: str, status: int, hint: str, scope: str) -> None:
        super().__init__(text, status, hint)
        self.scope = scope
        """The words the server asked for, separated by blanks; empty if it named none."""


def refusal(name: str, status: int, headers: Headers) -> HttpStatusError:
    """Tell what a 401 or 403 means: log in, agree to more, or this is not for you.

    The challenge decides, never the body: every framework has a body of its own.
    """
    challenge = headers.get(b"www-authenticate", b"")
    text = f"{name!r} wants authorization (HTTP {status})"
    if status == 403 and _LACKS_SCOPE.search(challenge):
        return _lacks_scope(name, challenge)
    if challenge and not _BEARER.search(challenge):
        # A password, or a scheme of its own: no login of ours leads to it.
        return AuthNeededError(text, status, "add a header with valid credentials to its entry")
    if status == 401 or challenge:
        hint = f"run: toolyard auth login {name}, or give it a header with a valid token"
        return AuthNeededError(text, status, hint)
    return HttpStatusError(text, status, "add a header with a valid token to its entry")


def _lacks_scope(name: str, challenge: bytes) -> ScopeNeededError:
    scope = _named_scope(challenge)
    words = f" ({scope})" if scope else ""
    text = f"{name!r} wants more rights than its login has{words}"
    return ScopeNeededError(text, 403, f"run: toolyard auth login {name}", scope)


def wanted_scope(headers: Headers) -> str:
    """The scope that a refusal names; empty if it names none."""
    return _named_scope(headers.get(b"www-authenticate", b""))


def _named_scope(challenge: bytes) -> str:
    named = _SCOPE.search(challenge)
    return readable_scope((named[1] or named[2] or b"").decode("latin-1")) if named else ""


def readable_scope(scope: str) -> str:
    """The scope if it is one; what a stranger sends is shown to people and sent to an issuer."""
    words = scope.split()
    is_scope = len(scope) <= SCOPE_LIMIT and all(map(_SCOPE_TOKEN.fullmatch, words))
    return " ".join(words) if is_scope else ""
