"""The records of authorizations: which client acts for whom, at all replicas alike.

All of it blocks.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any, Final

import msgspec

from toolyard.core.errors import ConfigError, ConflictError, StoreError
from toolyard.core.model import Problem
from toolyard.core.problems import ProblemCode
from toolyard.features.authorization.model import (
    IDLE_SECONDS,
    ClientAuthorization,
    digest,
    is_same,
)
from toolyard.features.members.model import read_fields
from toolyard.records.database import Database
from toolyard.records.places import JointRecords, RecordPlaces
from toolyard.records.protocol import ABSENT, Kept

KIND: Final = "authorization"
MOST: Final = 10_000
PER_MEMBER: Final = 50
"""Clients of one member; for a further one, the one that was used least recently ends."""
MARK_SECONDS: Final = 900.0
"""An authorization that ended is remembered for as long as a token or a code of it could come."""
_SECRET_BYTES: Final = 32


class AuthorizationCodec:
    """Reads and writes an authorization."""

    def read(self, key: str, plain: Any) -> ClientAuthorization:
        """Make a value of plain data; raises like `read_fields`."""
        return read_fields(plain, ClientAuthorization)

    def write(self, value: ClientAuthorization) -> object:
        """Make plain data of a value."""
        return msgspec.to_builtins(value)

    def problem(self, key: str | None, where: str, error: ConfigError | StoreError) -> Problem:
        """Say that authorizations cannot be read."""
        text = f"logins of clients in '{where}' cannot be read ({error})"
        hint = error.hint or "people log in with these clients again"
        return Problem(ProblemCode.MEMBERS_FILE, text, hint, where)


class SpentError(Exception):
    """A code or a refresh token was brought a second time; what came of it has ended."""


class AuthorizationStore:
    """The clients that act for people."""

    def __init__(
        self,
        rows: JointRecords[ClientAuthorization],
        places: RecordPlaces,
        clock: Callable[[], float],
    ) -> None:
        self.rows = rows
        self._places, self._clock = places, clock

    def read(self) -> dict[str, ClientAuthorization]:
        """All authorizations by id, as they are now at every replica.

        Raises:
            StoreError: They cannot be read.
        """
        self._places.refresh()
        return by_id(_readable(self.rows.read()))

    def begin(self, grant: str, authorization: ClientAuthorization) -> str:
        """Write a new authorization down, and return its first refresh token.

        Raises:
            SpentError: There is one of that id: its code was used before.
            ConfigError: There are too many.
            StoreError: It cannot be written.
        """
        alive = self._tidy(authorization.subject)
        if alive >= MOST:
            raise ConfigError("too many clients are logged in", "end some of them first")
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        value = msgspec.structs.replace(authorization, refresh=digest(secret))
        try:
            self.rows.write(_key(grant), value, expect=ABSENT)
        except ConflictError as error:
            self.end(grant, "its code was used twice")
            raise SpentError from error
        return f"{grant}.{secret}"

    def renew(self, token: str, client: str) -> tuple[str, ClientAuthorization, str] | None:
        """Swap a refresh token for the next; None if it is nobody's.

        Args:
            client: The digest of the id of the client that brings it.

        Returns:
            The id of the authorization, what is kept of it now, and the new refresh token.

        Raises:
            SpentError: It was swapped before: somebody else has it, too.
            StoreError: It cannot be read or written.
        """
        grant, _, secret = token.partition(".")
        self._places.refresh()
        kept = _readable(self.rows.read())
        authorization, now = kept.values.get(_key(grant)), self._clock()
        if authorization is None or not authorization.is_alive or authorization.expires_at < now:
            return None
        if not is_same(authorization.client, client):
            return None
        if not is_same(authorization.refresh, digest(secret)):
            self._spend(grant)
        fresh = secrets.token_urlsafe(_SECRET_BYTES)
        renewed = msgspec.structs.replace(
            authorization, refresh=digest(fresh), used_at=now, expires_at=now + IDLE_SECONDS
        )
        try:
            self.rows.write(_key(grant), renewed, expect=kept.version(_key(grant)))
        except ConflictError:
            self._spend(grant)
        return grant, renewed, f"{grant}.{fresh}"

    def _spend(self, grant: str) -> None:
        self.end(grant, "a refresh token was used twice")
        raise SpentError

    def end(self, grant: str, why: str) -> None:
        """End an authorization, if there is one; its tokens are worthless from now on.

        Raises:
            StoreError: It cannot be written.
        """
        for _ in range(20):
            kept = _readable(self.rows.read())
            authorization = kept.values.get(_key(grant))
            if authorization is None or not authorization.is_alive:
                return
            ended = msgspec.structs.replace(
                authorization, ended_at=self._clock(), ended_why=why, refresh=""
            )
            try:
                self.rows.write(_key(grant), ended, expect=kept.version(_key(grant)))
            except ConflictError:
                continue
            return
        raise StoreError("the login cannot be ended: others change it time and again")

    def is_used(self, client_id: str) -> bool:
        """Tell whether a client is logged in for somebody."""
        client = digest(client_id)
        return any(item.client == client and item.is_alive for item in self.read().values())

    def _tidy(self, subject: str) -> int:
        """Remove what is over, and end what is too much of one member; return how many are left."""
        now, alive = self._clock(), []
        for grant, authorization in self.read().items():
            if authorization.is_alive and authorization.expires_at >= now:
                alive.append((authorization.used_at, grant, authorization.subject))
            elif max(authorization.ended_at, authorization.expires_at * authorization.is_alive) < (
                now - MARK_SECONDS
            ):
                self.rows.write(_key(grant), None)
        theirs = sorted(item for item in alive if item[2] == subject)
        for _, grant, _ in theirs[: max(0, len(theirs) - PER_MEMBER + 1)]:
            self.end(grant, "the member has logged in with many clients since")
        return len(alive)


def open_authorizations(
    places: RecordPlaces, database: Database | None, clock: Callable[[], float]
) -> AuthorizationStore | None:
    """Open the records of authorizations; None if there is no database to keep them in."""
    rows = places.joint(database, AuthorizationCodec(), (KIND,))
    return None if rows is None else AuthorizationStore(rows, places, clock)


def by_id(kept: Kept[ClientAuthorization]) -> dict[str, ClientAuthorization]:
    """The authorizations by id."""
    return {key.removeprefix(f"{KIND} "): value for key, value in kept.values.items()}


def _key(grant: str) -> str:
    return f"{KIND} {grant}"


def _readable(kept: Kept[ClientAuthorization]) -> Kept[ClientAuthorization]:
    if kept.failure is not None:
        raise StoreError(kept.failure.text, kept.failure.hint)
    return kept
