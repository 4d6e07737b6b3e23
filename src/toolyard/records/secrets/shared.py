"""The keyring of a team: secrets in the database that hubs share, sealed with their key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from toolyard.records.places import RecordPlaces
from toolyard.records.secrets.keyring import read_keyring

if TYPE_CHECKING:
    from toolyard.records.postgres.sealed import SealedRecords


class SharedSecret(msgspec.Struct, frozen=True):
    """A secret of the database without its value."""

    name: str
    changed_at: float


def open_shared_secrets(
    places: RecordPlaces, keys: Sequence[str]
) -> SealedRecords[SharedSecret] | None:
    """Open the secrets that hubs share; None where there is no database, or no key."""
    return places.sealed("secret", SharedSecret, keys)


def keyring_lookup(places: RecordPlaces, keys: Sequence[str]) -> Callable[[str], str]:
    """Return what finds the value of `${keyring:NAME}`: shared, or in the keyring of the system."""
    shared = open_shared_secrets(places, keys)
    return read_keyring if shared is None else partial(look_up, shared)


def look_up(shared: SealedRecords[SharedSecret], name: str) -> str:
    """Return a secret of the database or, if it has none, of the system's keyring.

    Raises:
        SecretError: There is none, or it cannot be opened.
        StoreError: Nothing is known of the database.
    """
    value = shared.read(name)
    return read_keyring(name) if value is None else value
