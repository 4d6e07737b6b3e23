"""Short texts that only hubs with the same key can make and read.

Whoever gets one can pass it back, and neither read it nor change it. It is bound to a purpose and
an owner: a text made for another purpose, or for somebody else, does not open.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

LONGEST: Final = 1024
"""Characters of a sealed text."""
_NONCE: Final = 12
_TAG: Final = 16
_DERIVED: Final = b"toolyard seal"
"""Tells the key that seals from others that are made from the same one."""


def room_in(longest: int) -> int:
    """The bytes that a text of so many characters can carry."""
    return longest * 3 // 4 - _NONCE - _TAG


ROOM: Final = room_in(LONGEST)


class Seal:
    """Seals with the first of its keys, and opens what was sealed with any of them."""

    def __init__(self, keys: Sequence[str]) -> None:
        from cryptography.exceptions import InvalidTag

        self._ciphers = [_cipher(key) for key in keys]
        self._invalid = InvalidTag

    def seal(self, purpose: str, owner: str, data: bytes, longest: int = LONGEST) -> str:
        """Return a text of so many characters at most that carries the data.

        Raises:
            ValueError: There is more data than a text can carry.
        """
        if len(data) > room_in(longest):
            raise ValueError(f"a sealed text carries at most {room_in(longest)} bytes")
        nonce = os.urandom(_NONCE)
        sealed = self._ciphers[0].encrypt(nonce, data, _bound_to(purpose, owner))
        return _text(nonce + sealed)

    def open(self, purpose: str, owner: str, text: str, longest: int = LONGEST) -> bytes | None:
        """Return what a text carries; None if it was not sealed for this purpose and owner."""
        raw = _read(text, longest)
        return self._decrypt(self._ciphers, raw, _bound_to(purpose, owner)) if raw else None

    def is_latest(self, purpose: str, owner: str, text: str, longest: int = LONGEST) -> bool:
        """Say whether a text was sealed with the first key, and opens without the others."""
        raw = _read(text, longest)
        return self._decrypt(self._ciphers[:1], raw, _bound_to(purpose, owner)) is not None

    def _decrypt(self, ciphers: Sequence[AESGCM], raw: bytes, bound_to: bytes) -> bytes | None:
        for cipher in ciphers:
            try:
                return cipher.decrypt(raw[:_NONCE], raw[_NONCE:], bound_to)
            except self._invalid:
                continue
        return None


def _cipher(key: str) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    derive = HKDF(SHA256(), length=32, salt=None, info=_DERIVED)
    return AESGCM(derive.derive(key.encode()))


def _bound_to(purpose: str, owner: str) -> bytes:
    return b"%b\0%b" % (purpose.encode(), owner.encode())


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _read(text: str, longest: int) -> bytes:
    """The bytes of a text; none if it is too long, too short, or not as we would have written it.

    The decoder takes several texts for the same bytes. If all of them opened, whatever is
    remembered under a text could be reached under others, too.
    """
    if len(text) > longest:
        return b""
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        return b""
    return raw if len(raw) >= _NONCE + _TAG and _text(raw) == text else b""
