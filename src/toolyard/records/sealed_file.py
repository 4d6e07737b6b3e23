"""Sealed records of one hub, as a file: the same as in a database that hubs share.

The kind and the name of a record are bound to what is sealed in it, and beside it stands what
anybody may know. All of it blocks; on an event loop, use a thread.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar

import msgspec

from toolyard.core.errors import SecretError, StoreError
from toolyard.records.files import locked, read_bounded, write_atomic
from toolyard.records.marks import mark_of
from toolyard.wire.seal import Seal

About = TypeVar("About")
LONGEST: Final = 256 * 1024
"""Characters of a sealed value."""
LARGEST: Final = 16 * 1024 * 1024
"""Bytes of the file."""


class SealedStore(Protocol[About]):
    """Sealed texts of one kind, by name, wherever they are kept.

    Every method raises SecretError or StoreError if it cannot be read or written.
    """

    def listed(self) -> list[About]:
        """Return what may be known of every record."""
        ...

    def read(self, name: str) -> str | None:
        """Return a text; None if there is no such record."""
        ...

    def put(self, name: str, about: About, text: str) -> None:
        """Write a record."""
        ...

    def amend(self, name: str, about: About) -> None:
        """Write what may be known of a record, if there is one."""
        ...

    def remove(self, name: str) -> None:
        """Delete a record; no harm if there is none."""
        ...

    def revision(self) -> object:
        """Another value as soon as a record is another."""
        ...


class _SealedRow(msgspec.Struct, frozen=True):
    about: msgspec.Raw
    sealed: str


class SealedFile(Generic[About]):
    """Sealed texts in one file; see `SealedStore`."""

    def __init__(
        self, path: Path, kind: str, about: type[About], open_seal: Callable[[], Seal]
    ) -> None:
        """Keep records in a file; `open_seal` finds the key, once one is needed."""
        self.path = path
        self._kind, self._about, self._open_seal = kind, about, open_seal

    def listed(self) -> list[About]:
        """Return what may be known of every record."""
        try:
            return [
                msgspec.json.decode(row.about, type=self._about) for row in self._rows().values()
            ]
        except msgspec.MsgspecError as error:
            raise self._damaged() from error

    def read(self, name: str) -> str | None:
        """Return a text; None if there is no such record."""
        row = self._rows().get(name)
        if row is None:
            return None
        data = self._open_seal().open(self._kind, name, row.sealed, LONGEST)
        if data is None:
            text = f"a record of '{self.path}' was sealed with another key"
            raise SecretError(text, "start the hub with the TOOLYARD_KEY that it had then")
        return data.decode()

    def put(self, name: str, about: About, text: str) -> None:
        """Write a record."""
        try:
            sealed = self._open_seal().seal(self._kind, name, text.encode(), LONGEST)
        except ValueError as error:
            raise SecretError(f"'{name}' cannot be kept: {error}") from None
        self._change(name, lambda _: _row(about, sealed))

    def amend(self, name: str, about: About) -> None:
        """Write what may be known of a record, if there is one."""
        self._change(name, lambda row: None if row is None else _row(about, row.sealed))

    def remove(self, name: str) -> None:
        """Delete a record; no harm if there is none."""
        if name in self._rows():
            self._change(name, lambda _: None)

    def revision(self) -> object:
        """Another value as soon as a record is another."""
        return mark_of(self.path)

    def _change(self, name: str, change: Callable[[_SealedRow | None], _SealedRow | None]) -> None:
        with locked(self.path):
            rows = self._rows()
            row = change(rows.pop(name, None))
            if row is not None:
                rows[name] = row
            data = msgspec.json.encode({name: rows[name] for name in sorted(rows)})
            if len(data) > LARGEST:
                raise StoreError(f"'{self.path}' would be larger than {LARGEST} bytes")
            write_atomic(self.path, msgspec.json.format(data) + b"\n", keep_mode=False)

    def _rows(self) -> dict[str, _SealedRow]:
        try:
            raw = read_bounded(self.path, 2 * LARGEST)
            return msgspec.json.decode(raw, type=dict[str, _SealedRow])
        except FileNotFoundError:
            return {}
        except msgspec.MsgspecError as error:
            raise self._damaged() from error

    def _damaged(self) -> StoreError:
        return StoreError(f"'{self.path}' is damaged", "bring a copy back, or delete it")


def _row(about: object, sealed: str) -> _SealedRow:
    return _SealedRow(msgspec.Raw(msgspec.json.encode(about)), sealed)
