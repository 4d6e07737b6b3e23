"""Passwords: kept as slow digests, and guessed at within bounds."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
from collections.abc import Callable
from typing import Final

from toolyard.core.errors import ConfigError

SHORTEST: Final = 12
LONGEST: Final = 1024
_COST: Final = 15
"""The power of two of scrypt's cost: 32 MiB, and a tenth of a second."""
_BLOCK: Final = 8
_MEMORY: Final = 64 * 1024 * 1024
_SALT_BYTES: Final = 16
_MARK: Final = "scrypt"


def digest_password(password: str) -> str:
    """Return the digest under which a password is kept. It takes long.

    Raises:
        ConfigError: The password is too short or too long.
    """
    if not SHORTEST <= len(password) <= LONGEST:
        text = f"the password has {len(password)} characters"
        raise ConfigError(text, f"use {SHORTEST} or more, at most {LONGEST}")
    salt = os.urandom(_SALT_BYTES)
    return "$".join((_MARK, str(_COST), _text(salt), _text(_scrypt(password, salt, _COST))))


def matches(password: str, digest: str) -> bool:
    """Tell whether a password is the one of a digest; with none at all it takes as long."""
    mark, cost, salt, wanted = (digest or _NOBODYS).split("$")
    if mark != _MARK or len(password) > LONGEST:
        return False
    computed = _scrypt(password, _bytes(salt), int(cost))
    return hmac.compare_digest(computed, _bytes(wanted)) and digest != ""


class Bucket:
    """A bound on how often something is done: so many times at once, and then evenly."""

    def __init__(self, most: int, seconds: float, clock: Callable[[], float]) -> None:
        """Allow `most` times in so many seconds; the clock goes on evenly."""
        self._most, self._each = float(most), seconds / most
        self._clock = clock
        self._left, self._at = self._most, clock()

    def take(self) -> bool:
        """Do it once more; False if that is too often."""
        now = self._clock()
        self._left = min(self._most, self._left + (now - self._at) / self._each)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


def _scrypt(password: str, salt: bytes, cost: int) -> bytes:
    raw = password.encode("utf-8", "surrogatepass")
    return hashlib.scrypt(raw, salt=salt, n=1 << cost, r=_BLOCK, p=1, maxmem=_MEMORY, dklen=32)


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text)


_NOBODYS: Final = "$".join((_MARK, str(_COST), _text(bytes(_SALT_BYTES)), _text(bytes(32))))
"""The digest that is compared with where there is no account."""
