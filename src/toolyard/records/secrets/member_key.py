"""The key that seals what members keep here: that of the hubs, or one in the system's keyring."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

from toolyard.core.errors import SecretError
from toolyard.records.secrets.keyring import (
    NoKeyringError,
    find_keyring,
    read_keyring,
    write_keyring,
)
from toolyard.wire.seal import Seal

NAME: Final = "members-key"
"""The name of the key in the keyring."""


def seal_opener(keys: Sequence[str]) -> Callable[[], Seal]:
    """Return what finds the seal: by the hubs' keys, or by one that is made in the keyring."""

    @cache
    def open_seal() -> Seal:
        return Seal(keys or (_own_key(),))

    return open_seal


def _own_key() -> str:
    """Return the key in the keyring, made now if there is none.

    Raises:
        SecretError: There is neither a key nor a keyring.
    """
    try:
        find_keyring()
    except NoKeyringError:
        text = "there is no key to seal the credentials of members with"
        raise SecretError(text, "start the hub with TOOLYARD_KEY, or install a keyring") from None
    try:
        return read_keyring(NAME)
    except SecretError:
        write_keyring(NAME, secrets.token_urlsafe(32))
        return read_keyring(NAME)
