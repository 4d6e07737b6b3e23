"""Bytes that only the holder of a key can read: for copies of files that hold secrets."""

from __future__ import annotations

from toolyard.core.errors import StoreError


def new_key() -> bytes:
    """Return a key that nobody knows."""
    from cryptography.fernet import Fernet

    return Fernet.generate_key()


def seal(key: bytes, data: bytes) -> bytes:
    """Return the data as only the holder of the key can read it."""
    from cryptography.fernet import Fernet

    return Fernet(key).encrypt(data)


def unseal(key: bytes, sealed: bytes) -> bytes:
    """Return what was sealed.

    Raises:
        StoreError: It was sealed with another key, or is damaged.
    """
    from cryptography.fernet import Fernet, InvalidToken

    try:
        return Fernet(key).decrypt(sealed)
    except (InvalidToken, ValueError):
        raise StoreError("sealed data is damaged, or its key was replaced") from None
