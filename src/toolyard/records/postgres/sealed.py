"""Secrets in a shared database: sealed, so that only hubs with the key can read them.

The kind and the name of a record are bound to what is sealed in it: a value that is copied to
another record does not open there. Beside it stands what anybody may know.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Generic, TypeVar

import msgspec

from toolyard.core.errors import SecretError, StoreError
from toolyard.records.postgres.order import RecordOrder, safe_name
from toolyard.records.postgres.shared import SharedDatabase
from toolyard.wire.seal import Seal

About = TypeVar("About")
LONGEST: Final = 256 * 1024
"""Characters of a sealed value."""


class _Row(msgspec.Struct, frozen=True):
    about: msgspec.Raw
    sealed: str


class SealedRecords(Generic[About]):
    """Sealed texts of one kind, by name; every method may be called from any thread."""

    def __init__(self, database: SharedDatabase, kind: str, about: type[About], seal: Seal) -> None:
        self._database, self._kind, self._about, self._seal = database, kind, about, seal
        self.database_name = database.name
        """The database as messages have it."""

    def listed(self) -> list[About]:
        """Return what may be known of every record.

        Raises:
            StoreError: Nothing is known of the database, or it has what we cannot read.
        """
        texts = self._database.read().rows(self._kind).values()
        return [self._read_about(_row(text)) for text, _ in texts]

    def read(self, name: str) -> str | None:
        """Return a text; None if there is no such record.

        Raises:
            SecretError: It was sealed with a key that we do not have.
            StoreError: Nothing is known of the database.
        """
        text = self._database.read().rows(self._kind).get(safe_name(name))
        return None if text is None else self._open(name, _row(text[0]))

    def put(self, name: str, about: About, text: str) -> None:
        """Write a record.

        Raises:
            SecretError: It is too long.
            StoreError: It cannot be written.
        """
        sealed = self._sealed(name, text)
        with self._database.order() as order:
            self._write(order, name, about, sealed)

    def amend(self, name: str, about: About) -> None:
        """Write what may be known of a record, if there is one; raises like `put`."""
        with self._database.order() as order:
            text = order.rows(self._kind).get(safe_name(name))
            if text is not None:
                self._write(order, name, about, _row(text).sealed)

    def remove(self, name: str) -> None:
        """Delete a record; no harm if there is none.

        Raises:
            StoreError: It cannot be deleted.
        """
        with self._database.order() as order:
            order.put(self._kind, safe_name(name), None)

    def revision(self) -> int:
        """A number that is another as soon as a record is."""
        return self._database.revision_of((self._kind,))

    def _write(self, order: RecordOrder, name: str, about: About, sealed: str) -> None:
        row = _Row(msgspec.Raw(msgspec.json.encode(about)), sealed)
        order.put(self._kind, safe_name(name), _text(row))

    def _sealed(self, name: str, text: str) -> str:
        try:
            return self._seal.seal(self._kind, safe_name(name), text.encode(), LONGEST)
        except ValueError as error:
            raise SecretError(f"'{name}' cannot be kept: {error}") from None

    def _open(self, name: str, row: _Row) -> str:
        data = self._seal.open(self._kind, safe_name(name), row.sealed, LONGEST)
        if data is None:
            text = f"the {self._kind} '{name}' was sealed with another key"
            raise SecretError(text, "give this hub the TOOLYARD_KEY of the others")
        return data.decode()

    def _read_about(self, row: _Row) -> About:
        try:
            return msgspec.json.decode(row.about, type=self._about)
        except msgspec.DecodeError as error:
            raise StoreError(f"a {self._kind} of the database cannot be read: {error}") from error


def reseal(database: SharedDatabase, kinds: Iterable[str], seal: Seal) -> None:
    """Seal with the first key whatever was sealed with another; what we cannot open stays.

    Raises:
        StoreError: It cannot be read or written.
    """
    memory = database.read()
    old = [
        (kind, key)
        for kind in kinds
        for key, (text, _) in memory.rows(kind).items()
        if not seal.is_latest(kind, key, _row(text).sealed, LONGEST)
    ]
    if not old:
        return
    with database.order() as order:
        for kind, key in old:
            text = order.rows(kind).get(key)
            row = _row(text) if text is not None else None
            data = seal.open(kind, key, row.sealed, LONGEST) if row is not None else None
            if row is not None and data is not None:
                sealed = seal.seal(kind, key, data, LONGEST)
                order.put(kind, key, _text(_Row(row.about, sealed)))


def _text(row: _Row) -> str:
    return msgspec.json.encode(row).decode()


def _row(text: str) -> _Row:
    try:
        return msgspec.json.decode(text, type=_Row)
    except msgspec.DecodeError as error:
        raise StoreError(f"a record of the database cannot be read: {error}") from error
