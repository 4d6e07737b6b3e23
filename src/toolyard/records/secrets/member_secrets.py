"""Secrets of members: what `${member:NAME}` stands for when they call.

They are sealed, in a file or in the database that hubs share. All of it blocks.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from toolyard.core.errors import MemberSecretError, SecretError, UnknownNameError
from toolyard.core.names import closest
from toolyard.records.audit import note_change
from toolyard.records.places import RecordPlaces
from toolyard.records.sealed_file import SealedFile, SealedStore
from toolyard.records.secrets.mask import MASK
from toolyard.records.secrets.member_key import seal_opener

FILE: Final = "member-secrets.json"
KIND: Final = "member_secret"
MOST: Final = 100
"""Secrets of one member."""


class MemberSecret(msgspec.Struct, frozen=True):
    """A secret of a member without its value."""

    member: str
    """The key of the member."""
    name: str
    changed_at: float


class MemberSecrets:
    """The secrets of all members, by member and name."""

    def __init__(self, store: SealedStore[MemberSecret], path: Path) -> None:
        self._store = store
        self.path = path
        """The file that is another as soon as a secret is, unless hubs share them."""

    def listed(self) -> list[MemberSecret]:
        """Return every secret without its value.

        Raises:
            StoreError: They cannot be read.
        """
        return self._store.listed()

    def of(self, member: str) -> dict[str, MemberSecret]:
        """Return the secrets of one member by name; raises like `listed`."""
        return {secret.name: secret for secret in self.listed() if secret.member == member}

    def read(self, member: str, name: str) -> str | None:
        """Return the value of a member's secret; None if they have none of that name.

        Raises:
            SecretError, StoreError: It cannot be read.
        """
        value = self._store.read(_record(member, name))
        if value is not None:
            MASK.add(value)
        return value

    def put(self, member: str, name: str, value: str) -> MemberSecret:
        """Keep a value in the place of any other.

        Raises:
            SecretError: The member has too many, or there is no key to seal it with.
            StoreError: It cannot be written.
        """
        names = self.of(member)
        if name not in names and len(names) >= MOST:
            raise SecretError(f"a member has {MOST} secrets at most", "remove one first")
        MASK.add(value)
        secret = MemberSecret(member, name, time.time())
        self._store.put(_record(member, name), secret, value)
        self._note(secret, "sealed")
        return secret

    def look_up(self, keyring: Callable[[str], str], member: str, name: str) -> str:
        """Return the value of `${member:NAME}`; the owner, whose key is empty, has a keyring.

        Raises:
            MemberSecretError: Whoever calls has none.
            SecretError, StoreError: It cannot be read.
        """
        if member:
            value = self.read(member, name)
            if value is None:
                raise MemberSecretError(member, name)
            return value
        try:
            return keyring(name)
        except SecretError as error:
            raise MemberSecretError("", name) from error

    def remove(self, member: str, name: str) -> None:
        """Forget a secret.

        Raises:
            UnknownNameError: The member has no such secret.
            StoreError: It cannot be deleted.
        """
        names = self.of(member)
        if name not in names:
            near = ", ".join(closest(name, names) or names) or "none"
            raise UnknownNameError(f"there is no such secret {name[:80]!r}", f"there are: {near}")
        self._store.remove(_record(member, name))
        self._note(names[name], None)

    def forget(self, member: str) -> None:
        """Forget all secrets of a member; raises like `remove`."""
        for name, secret in self.of(member).items():
            self._store.remove(_record(member, name))
            self._note(secret, None)

    def revision(self) -> object:
        """Another value as soon as a secret is set or removed."""
        return self._store.revision()

    def _note(self, secret: MemberSecret, place: str | None) -> None:
        if isinstance(self._store, SealedFile):  # a database notes its changes itself
            note_change(KIND, f"{secret.member} {secret.name}", None, place)


def open_member_secrets(
    places: RecordPlaces, state_dir: Path, keys: Sequence[str]
) -> MemberSecrets:
    """Open the secrets of members: of all hubs that share a database and a key, or of this one."""
    path = state_dir / FILE
    shared = places.sealed(KIND, MemberSecret, keys)
    if shared is not None:
        return MemberSecrets(shared, path)
    return MemberSecrets(SealedFile(path, KIND, MemberSecret, seal_opener(keys)), path)


def _record(member: str, name: str) -> str:
    """The name of the record: a member's key may be long, and of any characters."""
    return f"{hashlib.sha256(member.encode()).hexdigest()[:32]} {name}"
