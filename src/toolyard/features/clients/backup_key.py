"""The key that backups of clients' files are sealed with, kept with the user's secrets."""

from __future__ import annotations

from typing import Final

from toolyard.core.errors import SecretError, StoreError
from toolyard.features.secrets.store import Secrets
from toolyard.records.secrets.sealing import new_key

NAME: Final = "toolyard-backups"


class BackupKey:
    """The key; made when it is first needed."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets

    def make(self) -> bytes:
        """Return the key, a new one if there is none.

        Raises:
            SecretError: The keyring does not take it, or does not open.
        """
        secret = self._secrets.list().get(NAME)
        if secret is None:
            secret = self._secrets.keep(NAME, new_key().hex())
        return bytes.fromhex(self._secrets.read(secret))

    def find(self) -> bytes:
        """Return the key.

        Raises:
            StoreError: It is gone, or cannot be read.
        """
        try:
            secret = self._secrets.list()[NAME]
            return bytes.fromhex(self._secrets.read(secret))
        except (KeyError, ValueError):
            text = f"the key of the backups, the secret '{NAME}', is gone"
            raise StoreError(text, "change the file by hand") from None
        except SecretError as error:
            raise StoreError(str(error), error.hint) from error
