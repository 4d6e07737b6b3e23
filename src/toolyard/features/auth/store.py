"""The store of grants, by the server they are for and who issued them.

Grants are kept in the keyring, or, where there is none, in a file each for the user alone. What is
no secret about them stands in one file beside, so that a change is seen without asking a keyring.
All of it blocks; on an event loop, use a thread.
"""

from __future__ import annotations

import hashlib
import time
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from toolyard.core.errors import SecretError, StoreError
from toolyard.links.grants import ListedGrant, OAuthGrant, join_scopes
from toolyard.records.files import locked, read_bounded, write_atomic
from toolyard.records.secrets.keyring import (
    NoKeyringError,
    delete_keyring,
    read_keyring,
    write_keyring,
)
from toolyard.records.secrets.mask import MASK
from toolyard.records.secrets.secret_files import read_secret_file

HOLD_SECONDS: Final = 30.0
"""A refresh takes a second; whoever holds the lock longer than this waits for a dead server."""
WANTED_LIMIT: Final = 4096
"""Characters of all scopes that a server asked for since the last login."""


class Grants:
    """The grants of one user."""

    def __init__(self, state_dir: Path) -> None:
        self.index = state_dir / "auth.json"
        self.folder = state_dir / "auth"
        """The place of grants without a keyring."""

    def listed(self) -> dict[str, ListedGrant]:
        """Return all grants without their secrets, by server.

        Raises:
            StoreError: The list cannot be read.
        """
        try:
            grants = msgspec.json.decode(read_bounded(self.index), type=list[ListedGrant])
        except FileNotFoundError:
            return {}
        except msgspec.MsgspecError as error:
            raise StoreError(f"'{self.index}' is damaged", "delete it and log in again") from error
        return {grant.url: grant for grant in grants}

    def hold(self) -> AbstractContextManager[None]:
        """Be the only one who renews a grant: two that use one refresh token lose it.

        Raises:
            StoreError: Another process did not let go in time.
        """
        return locked(self.folder / "renewal", HOLD_SECONDS)

    def read(self, url: str) -> OAuthGrant | None:
        """Return the grant for a server, if there is one.

        Raises:
            SecretError, StoreError: It cannot be read.
        """
        listed = self.listed().get(url)
        if listed is None:
            return None
        key = _key(listed)
        text = (
            read_keyring(key)
            if listed.place == "keyring"
            else read_secret_file(str(self.folder / key))
        )
        try:
            grant = msgspec.json.decode(text, type=OAuthGrant)
        except msgspec.MsgspecError as error:
            raise SecretError(f"the login at '{url}' is damaged", "log in again") from error
        _hide(grant)
        return grant

    def write(self, grant: OAuthGrant) -> ListedGrant:
        """Keep a grant in the place of any other for its server; return where.

        Raises:
            SecretError, StoreError: It cannot be kept.
        """
        _hide(grant)
        before = self.listed().get(grant.url)
        listed = ListedGrant(
            grant.url,
            grant.issuer,
            "keyring",
            grant.expires_at,
            grant.scope,
            changed_at=time.time(),
        )
        listed = self._put(listed, msgspec.json.encode(grant).decode())
        if before is not None and (_key(before), before.place) != (_key(listed), listed.place):
            self._drop(before)
        self._note(listed)
        return listed

    def end(self, url: str) -> None:
        """Note that a grant cannot be renewed."""
        listed = self.listed().get(url)
        if listed is not None and not listed.ended:
            changed = time.time()
            self._note(replace(listed, ended=True, changed_at=changed))

    def want(self, url: str, scope: str) -> None:
        """Note that a server asks for more than its grant allows."""
        listed = self.listed().get(url)
        if listed is None:
            return
        wanted = join_scopes(listed.wanted, scope)
        if len(wanted) > WANTED_LIMIT:
            wanted = scope  # a server that never has enough is not followed for ever
        if wanted != listed.wanted:
            self._note(replace(listed, wanted=wanted, changed_at=time.time()))

    def remove(self, url: str) -> ListedGrant | None:
        """Delete a grant; return what it was, None if there was none.

        Raises:
            SecretError: The keyring does not let go of it.
        """
        listed = self.listed().get(url)
        if listed is not None:
            self._drop(listed)
            self._note(listed, gone=True)
        return listed

    def _put(self, listed: ListedGrant, text: str) -> ListedGrant:
        key = _key(listed)
        try:
            write_keyring(key, text)
        except NoKeyringError:
            write_atomic(self.folder / key, text.encode())
            return replace(listed, place="file")
        return listed

    def _drop(self, listed: ListedGrant) -> None:
        if listed.place == "keyring":
            delete_keyring(_key(listed))
        else:
            (self.folder / _key(listed)).unlink(missing_ok=True)

    def _note(self, listed: ListedGrant, gone: bool = False) -> None:
        with locked(self.index):
            grants = self.listed()
            grants.pop(listed.url, None)
            if not gone:
                grants[listed.url] = listed
            ordered = [grants[url] for url in sorted(grants)]
            write_atomic(self.index, msgspec.json.format(msgspec.json.encode(ordered)) + b"\n")


def _key(listed: ListedGrant) -> str:
    text = f"{listed.url}\n{listed.issuer}"
    return "login-" + hashlib.sha256(text.encode()).hexdigest()[:32]


def _hide(grant: OAuthGrant) -> None:
    MASK.add(grant.access_token)
    MASK.add(grant.refresh_token)
    client = msgspec.json.decode(grant.client or "{}")
    secret = client.get("client_secret") if isinstance(client, dict) else None
    if isinstance(secret, str):
        MASK.add(secret)
