"""The keys of pages that were let in, and the codes they get them for."""

from __future__ import annotations

import hmac
import secrets
import time
from typing import Final

KEY_SECONDS: Final = 12 * 3600
KEYS_KEPT: Final = 64
CODE_SECONDS: Final = 3600
CODES_KEPT: Final = 16


class PageSessions:
    """Codes for the link, and the keys they were swapped for."""

    def __init__(self) -> None:
        self._codes: dict[str, float] = {}
        self._keys: dict[str, float] = {}

    def new_code(self) -> str:
        """A fresh code; it works once, for an hour."""
        return _issue(self._codes, 18, CODE_SECONDS, CODES_KEPT)

    def swap(self, code: str) -> str | None:
        """A key for a code that is still good; the code is used up."""
        ends = self._codes.pop(code, 0.0)
        if ends < time.monotonic():
            return None
        return _issue(self._keys, 32, KEY_SECONDS, KEYS_KEPT)

    def admits(self, key: bytes) -> bool:
        """Return whether this is the key of a page that was let in and may still be."""
        now = time.monotonic()
        self._keys = {page_key: ends for page_key, ends in self._keys.items() if ends > now}
        return any(hmac.compare_digest(key, page_key.encode()) for page_key in self._keys)


def _issue(issued: dict[str, float], size: int, seconds: float, most: int) -> str:
    """A new secret of that many bytes, good for so long; the oldest beyond `most` is not."""
    secret = secrets.token_urlsafe(size)
    issued[secret] = time.monotonic() + seconds
    while len(issued) > most:
        del issued[next(iter(issued))]
    return secret
