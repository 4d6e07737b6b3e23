"""Bytes that only the holder of a key can read: for copies of files that hold secrets.

A stream of SHAKE-256 under the key and a fresh nonce hides them, and BLAKE2 with the key tells
whether they are whole. The standard library has both, and no cipher.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Final

from toolyard.core.errors import StoreError

KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 16
_TAG_BYTES: Final = 32


def new_key() -> bytes:
    """Return a key that nobody knows."""
    return secrets.token_bytes(KEY_BYTES)


def seal(key: bytes, data: bytes) -> bytes:
    """Return the data as only the holder of the key can read it."""
    nonce = secrets.token_bytes(_NONCE_BYTES)
    body = nonce + _mixed(key, nonce, data)
    return body + _tag(key, body)


def unseal(key: bytes, sealed: bytes) -> bytes:
    """Return what was sealed.

    Raises:
        StoreError: It was sealed with another key, or is damaged.
    """
    body, tag = sealed[:-_TAG_BYTES], sealed[-_TAG_BYTES:]
    if not hmac.compare_digest(tag, _tag(key, body)):
        raise StoreError("sealed data is damaged, or its key was replaced")
    return _mixed(key, body[:_NONCE_BYTES], body[_NONCE_BYTES:])


def _mixed(key: bytes, nonce: bytes, data: bytes) -> bytes:
    stream = hashlib.shake_256(b"toolyard stream\0" + key + nonce).digest(len(data))
    mixed = int.from_bytes(data) ^ int.from_bytes(stream)
    return mixed.to_bytes(len(data))


def _tag(key: bytes, body: bytes) -> bytes:
    return hashlib.blake2b(body, key=key, digest_size=_TAG_BYTES, person=b"toolyard seal").digest()
