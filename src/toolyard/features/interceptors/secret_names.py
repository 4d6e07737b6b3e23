"""Names under which secrets and numbers of phones stand, and the values that are some."""

from __future__ import annotations

import re
from typing import Final

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECRETS: Final = frozenset(
    {
        *("password", "passwd", "passwort", "passphrase", "pwd", "secret", "token", "apikey"),
        *("accesskey", "secretkey", "privatekey", "signingkey", "encryptionkey", "accountkey"),
        *("authtoken", "accesstoken", "credential", "credentials", "authorization", "cookie"),
        *("connectionstring", "clientsecret", "otp", "totp", "mfacode", "recoverycode"),
    }
)
"""The last word, or the last two together, of a name that has a secret."""
_PLACES: Final = frozenset(
    {"page", "next", "continuation", "cursor", "sync", "delta", "resume", "pagination", "scroll"}
)
"""A token with such a word says where a list goes on."""
_STAND_IN: Final = re.compile(
    r"(?i)true|false|yes|no|none|null|nil|undefined|unset|auto|default|required|optional|string"
    r"|number|boolean|object|array|str|bytes|any|redacted|hidden|changeme|example|placeholder"
    r"|pass|passwd|password|pwd|secret|token|key"
    r"|[x*•.…#-]+|<.*>|\$.*|%.*%|\{.*|process\.env.*|os\.environ.*|env\..*|your[-_ ].*|my[-_].*"
    r"|\[.*|https?://.*|/.*|~/.*|\./.*|.*\.(?:json|ya?ml|toml|env|txt|pem|py|js|ts|md)"
)
"""Values that stand for a secret, or tell where it is."""
_PHONES: Final = frozenset({"phone", "tel", "telephone", "mobile", "fax", "cell", "msisdn"})


def is_secret_under(name: str, value: str, *, is_sure: bool = True) -> bool:
    """Tell whether a value is a secret, by the name it stands under.

    Args:
        is_sure: It is the whole value. In prose, a plain word after the name is none.
    """
    if not _has_secrets(name) or len(value) < 4 or is_stand_in(value):
        return False
    if is_sure:
        return len(value.split()) <= 3 or "\n" in value
    kinds = (str.isdigit, str.isalpha, lambda letter: not letter.isalnum() and letter not in "-'.")
    return len(value) >= 6 and sum(any(map(kind, value)) for kind in kinds) >= 2


def is_stand_in(value: str) -> bool:
    """Tell whether a value stands for a secret, and is none."""
    return _STAND_IN.fullmatch(value) is not None


def names_phone(name: str) -> bool:
    """Tell whether the number of a phone stands under a name."""
    return not _PHONES.isdisjoint(word.lower() for word in _WORD.findall(name))


def _has_secrets(name: str) -> bool:
    words = [word.lower() for word in _WORD.findall(name[-200:])]
    while words and words[-1].isdigit():
        words.pop()
    if not words or not _PLACES.isdisjoint(words):
        return False
    return words[-1] in _SECRETS or "".join(words[-2:]) in _SECRETS
