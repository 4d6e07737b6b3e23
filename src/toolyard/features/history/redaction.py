"""Leaves secrets out of what is kept of calls."""

from __future__ import annotations

import re
from typing import Any, Final

REDACTED: Final = "[redacted]"
SECRETS: Final = (
    "accesskey",
    "apikey",
    "authorization",
    "cookie",
    "credential",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "secret",
    "token",
)
"""Parts of the names under which secrets are passed, without case, `_` and `-`."""
_IN_TEXT: Final = re.compile(
    r"((?:access_?key|api[_-]?key|authorization|cookie|passphrase|passwd|password|secret|token)"
    r"[\"'\\]*\s?[:=]\s?[\"'\\]*(?:(?:bearer|basic)\s)?|\bbearer\s)[^\s\"'\\,;&}\]]+",
    re.IGNORECASE,
)
"""The same within a text, which may be JSON, a header, a query or an environment."""
DEEPEST: Final = 64
"""Levels of a value that are looked into; what lies deeper is left out."""


def redact(value: Any, depth: int = 0) -> Any:
    """The same value without what stands under names that secrets have."""
    if depth > DEEPEST:
        return REDACTED
    if isinstance(value, dict):
        return {
            key: REDACTED if hides(key, item) else redact(item, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [redact(item, depth + 1) for item in value]
    return _IN_TEXT.sub(rf"\1{REDACTED}", value) if isinstance(value, str) else value


def hides(name: str, value: Any) -> bool:
    """Return whether a name hides a secret: truth values are none, and numbers of tokens."""
    if value is None or isinstance(value, bool) or value in ("", [], {}):
        return False
    plain = name.lower().replace("_", "").replace("-", "")
    if isinstance(value, int | float) and plain.endswith("tokens"):
        return False
    return any(part in plain for part in SECRETS)


def is_redacted(value: Any) -> bool:
    """Return whether something was left out of a value."""
    if isinstance(value, dict):
        return any(is_redacted(item) for item in value.values())
    if isinstance(value, list):
        return any(is_redacted(item) for item in value)
    return isinstance(value, str) and REDACTED in value
