"""The store of grants, by the server they are for, whose they are, and who issued them.

Grants are kept in the keyring, or, where there is none, in a file each for the user alone. What is
no secret about them stands in one file beside, so that a change is seen without asking a keyring.
Hubs that share a database and a key keep them there, sealed. Grants of members are always sealed.
All of it blocks; on an event loop, use a thread.
"""

from __future__ import annotations

import hashlib
import time
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, Protocol

import msgspec

from toolyard.core.errors import SecretError, StoreError
from toolyard.features.auth.shared import SealedGrants
from toolyard.links.grants import ListedGrant, OAuthGrant, join_scopes
from toolyard.records.files import locked, read_bounded, write_atomic
from toolyard.records.marks import mark_of
from toolyard.records.places import RecordPlaces
from toolyard.records.sealed_file import SealedFile
from toolyard.records.secrets.keyring import (
    NoKeyringError,
    delete_keyring,
    read_keyring,
    write_keyring,
)
from toolyard.records.secrets.mask import MASK
from toolyard.records.secrets.member_key import seal_opener
from toolyard.records.secrets.secret_files import read_secret_file
from toolyard.settings import Settings

KIND: Final = "grant"
MEMBER_FILE: Final = "member-grants.json"
SERVER_PREFIX: Final = "login-"
HUB_PREFIX: Final = "hub-login-"
HOLD_SECONDS: Final = 30.0
"""A refresh takes a second; whoever holds the lock longer than this waits for a dead server."""
WANTED_LIMIT: Final = 4096
"""Characters of all scopes that a server asked for since the last login."""


class GrantPlace(Protocol):
    """A place of grants: what is no secret about them, and each as a text.

    Every method raises SecretError or StoreError if it cannot be read or written.
    """

    def listed(self) -> dict[str, ListedGrant]:
        """Return all grants without their secrets, by key."""
        ...

    def hold(self, key: str) -> AbstractContextManager[None]:
        """Be the only one who renews a grant."""
        ...

    def read(self, listed: ListedGrant) -> str:
        """Return a grant as text; empty if it was removed meanwhile."""
        ...

    def write(self, listed: ListedGrant, text: str) -> ListedGrant:
        """Keep a grant in the place of any other of its key; return where."""
        ...

    def note(self, listed: ListedGrant) -> None:
        """Note what is no secret about a grant."""
        ...

    def remove(self, listed: ListedGrant) -> None:
        """Delete a grant."""
        ...

    def revision(self) -> object:
        """Another value as soon as a grant is another."""
        ...


class Grants:
    """The grants of the hub's owner and of members, or those of all hubs that share a database."""

    def __init__(
        self,
        state_dir: Path,
        shared: GrantPlace | None = None,
        members: GrantPlace | None = None,
    ) -> None:
        """Keep grants in `shared`, or in files here, and those of members in `members`."""
        self.index = state_dir / "auth.json"
        """The file that is another as soon as a grant is, unless they are shared."""
        self.folder = state_dir / "auth"
        """The place of grants without a keyring."""
        self.member_index = state_dir / MEMBER_FILE
        """The file of members' grants, unless they are shared."""
        self._place = shared or GrantFiles(self.index, self.folder)
        self._members = members or self._place

    def listed(self) -> dict[str, ListedGrant]:
        """Return all grants without their secrets, by key.

        Raises:
            StoreError: The list cannot be read.
        """
        if self._members is self._place:
            return self._place.listed()
        return self._place.listed() | self._members.listed()

    def _place_of(self, grant: OAuthGrant | ListedGrant) -> GrantPlace:
        return self._members if grant.member else self._place

    def hold(self, key: str) -> AbstractContextManager[None]:
        """Be the only one who renews a grant: two that use one refresh token lose it.

        Raises:
            StoreError: Another process did not let go in time.
        """
        return self._place.hold(key)

    def read(self, key: str) -> OAuthGrant | None:
        """Return the grant of a key, if there is one.

        Raises:
            SecretError, StoreError: It cannot be read.
        """
        listed = self.listed().get(key)
        text = self._place_of(listed).read(listed) if listed is not None else ""
        if listed is None or not text:
            return None
        try:
            grant = msgspec.json.decode(text, type=OAuthGrant)
        except msgspec.MsgspecError as error:
            raise SecretError(f"the login at '{listed.url}' is damaged", "log in again") from error
        _hide(grant)
        return grant

    def write(self, grant: OAuthGrant) -> ListedGrant:
        """Keep a grant in the place of any other of its key; return where.

        Raises:
            SecretError, StoreError: It cannot be kept.
        """
        _hide(grant)
        listed = ListedGrant(
            grant.url,
            grant.issuer,
            "keyring",
            grant.expires_at,
            grant.scope,
            changed_at=time.time(),
            member=grant.member,
        )
        return self._place_of(grant).write(listed, msgspec.json.encode(grant).decode())

    def end(self, key: str) -> None:
        """Note that a grant cannot be renewed."""
        listed = self.listed().get(key)
        if listed is not None and not listed.ended:
            changed = time.time()
            self._place_of(listed).note(replace(listed, ended=True, changed_at=changed))

    def want(self, key: str, scope: str) -> None:
        """Note that a server asks for more than its grant allows."""
        listed = self.listed().get(key)
        if listed is None:
            return
        wanted = join_scopes(listed.wanted, scope)
        if len(wanted) > WANTED_LIMIT:
            wanted = scope  # a server that never has enough is not followed for ever
        if wanted != listed.wanted:
            self._place_of(listed).note(replace(listed, wanted=wanted, changed_at=time.time()))

    def remove(self, key: str) -> ListedGrant | None:
        """Delete a grant; return what it was, None if there was none.

        Raises:
            SecretError: The keyring does not let go of it.
            StoreError: The database cannot be written.
        """
        listed = self.listed().get(key)
        if listed is not None:
            self._place_of(listed).remove(listed)
        return listed

    def forget(self, member: str) -> None:
        """Delete all grants of a member; raises like `remove`."""
        for listed in self.listed().values():
            if listed.member == member:
                self._members.remove(listed)

    def revision(self) -> object:
        """Another value as soon as a grant is another."""
        return self._place.revision(), self._members.revision()


class GrantFiles:
    """Grants in the keyring, or in a file each, with one file beside; see `GrantPlace`."""

    def __init__(self, index: Path, folder: Path, prefix: str = SERVER_PREFIX) -> None:
        """Keep grants under names with this prefix: a keyring is one place for all of them."""
        self._index = index
        self._folder = folder
        self._prefix = prefix

    def listed(self) -> dict[str, ListedGrant]:
        """Return all grants without their secrets, by key."""
        try:
            grants = msgspec.json.decode(read_bounded(self._index), type=list[ListedGrant])
        except FileNotFoundError:
            return {}
        except msgspec.MsgspecError as error:
            raise StoreError(f"'{self._index}' is damaged", "delete it and log in again") from error
        return {grant.key: grant for grant in grants}

    def hold(self, key: str) -> AbstractContextManager[None]:
        """Be the only process that renews grants."""
        return locked(self._folder / "renewal", HOLD_SECONDS)

    def read(self, listed: ListedGrant) -> str:
        """Return a grant as text."""
        key = self._key(listed)
        if listed.place == "keyring":
            return read_keyring(key)
        return read_secret_file(str(self._folder / key))

    def write(self, listed: ListedGrant, text: str) -> ListedGrant:
        """Keep a grant in the place of any other for its server; return where."""
        before = self.listed().get(listed.key)
        listed = self._put(listed, text)
        if before is not None and (self._key(before), before.place) != (
            self._key(listed),
            listed.place,
        ):
            self._drop(before)
        self.note(listed)
        return listed

    def note(self, listed: ListedGrant) -> None:
        """Note what is no secret about a grant."""
        self._list_anew(listed.key, listed)

    def remove(self, listed: ListedGrant) -> None:
        """Delete a grant."""
        self._drop(listed)
        self._list_anew(listed.key, None)

    def revision(self) -> object:
        """Another value as soon as a grant is another."""
        return mark_of(self._index)

    def _put(self, listed: ListedGrant, text: str) -> ListedGrant:
        key = self._key(listed)
        try:
            write_keyring(key, text)
        except NoKeyringError:
            write_atomic(self._folder / key, text.encode())
            return replace(listed, place="file")
        return listed

    def _drop(self, listed: ListedGrant) -> None:
        if listed.place == "keyring":
            delete_keyring(self._key(listed))
        else:
            (self._folder / self._key(listed)).unlink(missing_ok=True)

    def _list_anew(self, key: str, listed: ListedGrant | None) -> None:
        with locked(self._index):
            grants = self.listed()
            grants.pop(key, None)
            if listed is not None:
                grants[key] = listed
            ordered = [grants[key] for key in sorted(grants)]
            write_atomic(self._index, msgspec.json.format(msgspec.json.encode(ordered)) + b"\n")

    def _spot(self, listed: ListedGrant) -> tuple[str, str]:
        return self._key(listed), listed.place

    def _key(self, listed: ListedGrant) -> str:
        text = f"{listed.key}\n{listed.issuer}"
        return self._prefix + hashlib.sha256(text.encode()).hexdigest()[:32]


def open_grants(settings: Settings, places: RecordPlaces) -> Grants:
    """Open the grants of the user, or those that hubs share."""
    state_dir = settings.state_dir
    records = places.sealed(KIND, ListedGrant, settings.key)
    if records is None or places.shared is None:
        seal = seal_opener(settings.key)
        theirs = SealedFile(state_dir / MEMBER_FILE, KIND, ListedGrant, seal)

        def hold(_key: str) -> AbstractContextManager[None]:
            return locked(state_dir / "auth" / "renewal", HOLD_SECONDS)

        return Grants(state_dir, members=SealedGrants(theirs, hold, "file"))
    from toolyard.records.postgres.renewals import hold_renewal

    hold_shared = partial(hold_renewal, places.shared)
    return Grants(state_dir, SealedGrants(records, hold_shared, "database"))


def open_hub_grants(settings: Settings) -> Grants:
    """Open the logins of this machine at hubs of others, which no hub here uses or shares."""
    state_dir = settings.state_dir / "hubs"
    place = GrantFiles(state_dir / "auth.json", state_dir / "auth", HUB_PREFIX)
    return Grants(state_dir, place)


def _hide(grant: OAuthGrant) -> None:
    MASK.add(grant.access_token, renewed=True)
    MASK.add(grant.refresh_token, renewed=True)
    MASK.add(grant.id_token, renewed=True)
    client = msgspec.json.decode(grant.client or "{}")
    secret = client.get("client_secret") if isinstance(client, dict) else None
    if isinstance(secret, str):
        MASK.add(secret)
