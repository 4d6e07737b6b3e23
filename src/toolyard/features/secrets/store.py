"""Secrets of the user: kept in the system's keyring, or in files that are the user's alone.

Where hubs share a database and a key, the database takes the place of the keyring.

A keyring cannot list what it holds, so the names are kept in a file beside; values never are.
All of it blocks, and a keyring may ask the user to unlock it: on an event loop, use a thread.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from toolyard.core.errors import SecretError, StoreError, UnknownNameError
from toolyard.core.names import closest
from toolyard.features.secrets.model import KeptSecret, check_secret_name, check_value
from toolyard.records.audit import note_change
from toolyard.records.directories import make_private
from toolyard.records.files import locked, read_bounded, write_atomic
from toolyard.records.marks import mark_of
from toolyard.records.places import RecordPlaces
from toolyard.records.secrets.keyring import (
    delete_keyring,
    has_keyring,
    read_keyring,
    write_keyring,
)
from toolyard.records.secrets.secret_files import SecretPlace, check_private, read_secret_file
from toolyard.records.secrets.shared import SharedSecret, look_up, open_shared_secrets
from toolyard.settings import Settings

if TYPE_CHECKING:
    from toolyard.records.postgres.sealed import SealedRecords


class Secrets:
    """The secrets of one user, by name."""

    def __init__(self, state_dir: Path, shared: SealedRecords[SharedSecret] | None = None) -> None:
        self.shared = shared
        """The secrets of all hubs, if they share some."""
        self.index = state_dir / "secrets.json"
        """The file with the names."""
        self.folder = state_dir / "secrets"
        """The files of secrets that found no keyring."""

    def list(self) -> dict[str, KeptSecret]:
        """Return every secret that was set through us, by name.

        Raises:
            StoreError: The list of names cannot be read.
        """
        secrets = self._listed_here()
        if self.shared is not None:
            for secret in self.shared.listed():
                changed_at = secret.changed_at
                secrets[secret.name] = KeptSecret(secret.name, "database", changed_at=changed_at)
        return secrets

    def _listed_here(self) -> dict[str, KeptSecret]:
        try:
            raw = read_bounded(self.index)
            secrets = msgspec.json.decode(raw, type=list[KeptSecret])
        except FileNotFoundError:
            return {}
        except msgspec.MsgspecError as error:
            raise StoreError(
                f"'{self.index}' is damaged", "delete it and set your secrets again"
            ) from error
        return {secret.name: secret for secret in secrets}

    def changes(self) -> dict[str, float]:
        """Return when each secret was last set, by its key.

        Raises:
            StoreError: The list of names cannot be read.
        """
        times: dict[str, float] = {}
        for secret in self.list().values():  # two may be kept in one file
            times[secret.key] = max(secret.changed_at, times.get(secret.key, 0.0))
        return times

    def read(self, secret: KeptSecret) -> str:
        """Return the value of a secret.

        Raises:
            SecretError: It is missing, or cannot be read.
        """
        if secret.place == "file":
            return read_secret_file(secret.path)
        return self.look_up(secret.name)

    def look_up(self, name: str) -> str:
        """Return the value of `${keyring:NAME}`; raises like `read`."""
        return read_keyring(name) if self.shared is None else look_up(self.shared, name)

    def revision(self) -> object:
        """Another value as soon as a secret is set or removed."""
        return mark_of(self.index), None if self.shared is None else self.shared.revision()

    def planned(self, name: str) -> KeptSecret:
        """Return the place of a secret: the one it has, or the one that `keep` would give it."""
        if secret := self.list().get(name):
            return secret
        place = self.place_of_new()
        if place == "file":
            return KeptSecret(name, place, str(self.folder / name), ours=True)
        return KeptSecret(name, place)

    def place_of_new(self) -> SecretPlace:
        """Return the place where a secret is kept that has none yet."""
        if self.shared is not None:
            return "database"
        return "keyring" if has_keyring() else "file"

    def keep(self, name: str, value: str) -> KeptSecret:
        """Keep a value in the database or keyring, or in a private file of ours without either.

        Raises:
            SecretError: The name or value cannot be used, or the keyring does not take it.
            StoreError: The file cannot be written.
        """
        if self.planned(name).place != "file":
            return self.set(name, value)
        make_private(str(self.folder))
        return self.set_file(name, self.folder / check_secret_name(name), value)

    def set(self, name: str, value: str) -> KeptSecret:
        """Keep a value in the database that hubs share, or in the keyring.

        Raises:
            NoKeyringError: There is none.
            SecretError: The name or value cannot be used, or the keyring does not take it.
            StoreError: The database cannot be written.
        """
        check_value(check_secret_name(name), value)
        if self.shared is not None:
            changed_at = time.time()
            self.shared.put(name, SharedSecret(name, changed_at), value)
            return KeptSecret(name, "database", changed_at=changed_at)
        write_keyring(name, value)
        return self._note(KeptSecret(name, "keyring", changed_at=time.time()))

    def set_file(self, name: str, path: Path, value: str | None) -> KeptSecret:
        """Keep a value in a file; without a value, use the file that is there.

        Raises:
            SecretError: The file is not the user's alone, or there is none.
        """
        check_secret_name(name)
        path = Path(os.path.abspath(os.path.expanduser(path)))
        if value is None:
            check_value(name, read_secret_file(str(path)))
        else:
            check_value(name, value)
            if path.exists():
                check_private(path)
            write_atomic(path, value.encode() + b"\n")
        before = self.list().get(name)
        ours = value is not None or (before is not None and before.ours)
        return self._note(KeptSecret(name, "file", str(path), ours, time.time()))

    def remove(self, name: str) -> None:
        """Forget a secret and its value.

        Raises:
            UnknownNameError: There is no such secret.
            SecretError: The keyring does not let go of it.
        """
        secrets = self.list()
        secret = secrets.get(name)
        if secret is None and _is_in_keyring(name):
            secret = KeptSecret(name, "keyring")
        if secret is None:
            near = ", ".join(closest(name, secrets) or secrets) or "none"
            raise UnknownNameError(f"there is no secret '{name}'", f"there are: {near}")
        if secret.place == "database":
            assert self.shared is not None
            self.shared.remove(name)
            return
        if secret.place == "keyring":
            delete_keyring(name)
        elif secret.ours:
            Path(secret.path).unlink(missing_ok=True)
        self._note(secret, gone=True)

    def _note(self, secret: KeptSecret, gone: bool = False) -> KeptSecret:
        with locked(self.index):
            secrets = self._listed_here()
            secrets.pop(secret.name, None)
            if not gone:
                secrets[secret.name] = secret
            ordered = [secrets[name] for name in sorted(secrets)]
            write_atomic(self.index, msgspec.json.format(msgspec.json.encode(ordered)) + b"\n")
        note_change("secret", secret.name, None, None if gone else secret.place)
        return secret


def open_secrets(settings: Settings, places: RecordPlaces) -> Secrets:
    """Open the secrets of the user, and those that hubs share."""
    return Secrets(settings.state_dir, open_shared_secrets(places, settings.key))


def _is_in_keyring(name: str) -> bool:
    try:
        read_keyring(name)
    except SecretError:
        return False
    return True
