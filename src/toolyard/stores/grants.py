"""What authorization servers granted us: tokens, by the server they are for and who issued them.

Tokens are kept in the keyring, or, where there is none, in a file each for the user alone. What is
no secret about them stands in one file beside, so that a change is seen without asking a keyring.
All of it blocks; on an event loop, use a thread.
"""

from __future__ import annotations

import hashlib
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import msgspec

from toolyard.core.errors import SecretError, StoreError
from toolyard.records.files import locked, read_bounded, write_atomic
from toolyard.stores.keyring import NoKeyringError, delete_keyring, read_keyring, write_keyring
from toolyard.stores.mask import MASK
from toolyard.stores.secret_files import SecretPlace, read_secret_file

HOLD_SECONDS: Final = 30.0
"""A refresh takes a second; whoever holds the lock longer than this waits for a dead server."""
WANTED_LIMIT: Final = 4096
"""Characters of all scopes that a server asked for since the last login."""
AHEAD_MOST: Final = 300.0
AHEAD_PART: Final = 0.25
"""A token is renewed when a quarter of its life is left, and at most five minutes ahead."""


@dataclass(frozen=True, slots=True)
class Grant:
    """What lets us in at one server."""

    url: str
    """The server, as `server_key` gives it."""
    issuer: str
    token_endpoint: str
    client: str = field(repr=False)
    """What the issuer knows us by, as JSON."""
    access_token: str = field(repr=False)
    refresh_token: str = field(default="", repr=False)
    resource: str = ""
    scope: str = ""
    issued_at: float = 0.0
    expires_at: float = 0.0
    """In seconds since 1970; 0 if nobody said."""

    @property
    def refresh_at(self) -> float:
        """When to renew it; 0 if it has no end."""
        life = self.expires_at - self.issued_at
        return self.expires_at - min(AHEAD_MOST, life * AHEAD_PART) if self.expires_at else 0.0


@dataclass(frozen=True, slots=True)
class Listed:
    """What is no secret about a grant."""

    url: str
    issuer: str
    place: SecretPlace
    expires_at: float = 0.0
    scope: str = ""
    ended: bool = False
    """It cannot be renewed: a person has to log in again."""
    changed_at: float = 0.0
    wanted: str = ""
    """The scope that its server asked for beyond this; the next login asks for both."""


class Grants:
    """The grants of one user."""

    def __init__(self, state_dir: Path) -> None:
        self.index = state_dir / "auth.json"
        self.folder = state_dir / "auth"
        """Where grants are without a keyring."""

    def listed(self) -> dict[str, Listed]:
        """All there are, by server.

        Raises:
            StoreError: The list cannot be read.
        """
        try:
            found = msgspec.json.decode(read_bounded(self.index), type=list[Listed])
        except FileNotFoundError:
            return {}
        except msgspec.MsgspecError as error:
            raise StoreError(f"'{self.index}' is damaged", "delete it and log in again") from error
        return {each.url: each for each in found}

    def hold(self) -> AbstractContextManager[None]:
        """Be the only one who renews a grant: two that use one refresh token lose it.

        Raises:
            StoreError: Another process did not let go in time.
        """
        return locked(self.folder / "renewal", HOLD_SECONDS)

    def read(self, url: str) -> Grant | None:
        """The grant for a server, if there is one.

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
            grant = msgspec.json.decode(text, type=Grant)
        except msgspec.MsgspecError as error:
            raise SecretError(f"the login at '{url}' is damaged", "log in again") from error
        _hide(grant)
        return grant

    def write(self, grant: Grant) -> Listed:
        """Keep a grant in the place of any other for its server; tells where.

        Raises:
            SecretError, StoreError: It cannot be kept.
        """
        _hide(grant)
        before = self.listed().get(grant.url)
        listed = Listed(
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

    def remove(self, url: str) -> Listed | None:
        """Forget a grant; gives what it was, None if there was none.

        Raises:
            SecretError: The keyring does not let go of it.
        """
        listed = self.listed().get(url)
        if listed is not None:
            self._drop(listed)
            self._note(listed, gone=True)
        return listed

    def _put(self, listed: Listed, text: str) -> Listed:
        key = _key(listed)
        try:
            write_keyring(key, text)
        except NoKeyringError:
            write_atomic(self.folder / key, text.encode())
            return replace(listed, place="file")
        return listed

    def _drop(self, listed: Listed) -> None:
        if listed.place == "keyring":
            delete_keyring(_key(listed))
        else:
            (self.folder / _key(listed)).unlink(missing_ok=True)

    def _note(self, listed: Listed, gone: bool = False) -> None:
        with locked(self.index):
            known = self.listed()
            known.pop(listed.url, None)
            if not gone:
                known[listed.url] = listed
            ordered = [known[url] for url in sorted(known)]
            write_atomic(self.index, msgspec.json.format(msgspec.json.encode(ordered)) + b"\n")


def server_key(url: str) -> str:
    """What a server is known by: its address without what may be secret or differ by spelling."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2].lower()
    return urlunsplit((parts.scheme.lower(), host, parts.path or "/", "", ""))


def join_scopes(*scopes: str) -> str:
    """All words of these scopes, each once, in the order they come."""
    return " ".join(dict.fromkeys(" ".join(scopes).split()))


def _key(listed: Listed) -> str:
    text = f"{listed.url}\n{listed.issuer}"
    return "login-" + hashlib.sha256(text.encode()).hexdigest()[:32]


def _hide(grant: Grant) -> None:
    MASK.add(grant.access_token)
    MASK.add(grant.refresh_token)
    client = msgspec.json.decode(grant.client or "{}")
    secret = client.get("client_secret") if isinstance(client, dict) else None
    if isinstance(secret, str):
        MASK.add(secret)
