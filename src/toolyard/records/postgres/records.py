"""Records of some kinds in a shared database."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from typing import Any, Final, Generic, TypeVar

import msgspec

from toolyard.core.errors import ConfigError, StoreError
from toolyard.core.model import Problem
from toolyard.records.postgres.memory import NEVER
from toolyard.records.postgres.shared import SharedDatabase
from toolyard.records.protocol import ABSENT, Codec, Kept, check_version

Value = TypeVar("Value")
LARGEST: Final = 1024 * 1024
"""Bytes of one record."""
MOST: Final = 10_000
"""Records of one kind."""
AGAIN: Final = "write it again, or remove it"
"""The hint about a record that cannot be used, where no other fits better."""

_Row = tuple[int, Value | None, Problem | None]


class PostgresRecords(Generic[Value]):
    """The records of some kinds; what did not change since it was read is not decoded again."""

    def __init__(
        self,
        database: SharedDatabase,
        codec: Codec[Value],
        kinds: Collection[str],
        *,
        most: int = MOST,
        also: Collection[str] = (),
    ) -> None:
        """Open records.

        Args:
            kinds: If several, they stand before the names in keys, with a blank between.
            most: The records of one kind that there may be.
            also: Kinds whose changes count, too.
        """
        self._database, self._codec, self._kinds = database, codec, tuple(kinds)
        self._followed = (*kinds, *also)
        self._most = most
        self._lock = threading.Lock()
        self._rows: dict[str, _Row[Value]] = {}
        self._changes = database.follow(self._followed)

    def read(self) -> Kept[Value]:
        """Read all records; a bad one is a problem, and costs that one alone."""
        try:
            with self._lock:
                return self._read()
        except StoreError as error:
            return Kept(NEVER, failure=self._codec.problem(None, self._database.name, error))

    def revision(self) -> int:
        """The revision that `read` would give."""
        return self._database.revision_of(self._followed)

    def write(
        self, key: str, value: Value | None, *, expect: int | None = None, by: str = ""
    ) -> int:
        """Write or delete one record; see `Records.write`."""
        expected = {} if expect is None else {key: expect}
        return self.write_all({key: value}, expect=expected, by=by)

    def write_all(
        self, values: Mapping[str, Value | None], *, expect: Mapping[str, int], by: str = ""
    ) -> int:
        """Write or delete some records together or not at all; give their new version.

        Raises:
            ConfigError: One cannot be used.
            ConflictError: One is at another version than `expect` says of it.
            StoreError: They cannot be written.
        """
        texts = {key: self._text(key, value) for key, value in values.items()}
        with self._database.order(by) as order:
            for key, version in expect.items():
                check_version(key, version, order.version(*self._split(key)))
            for key, text in texts.items():
                order.put(*self._split(key), text)
        return ABSENT if set(texts.values()) == {None} else order.revision

    async def changed(self, after: int) -> None:
        """Wait until the revision is another than `after`, whoever wrote."""
        count = self._changes.count
        while self.revision() == after:
            count = await self._changes.wait(count)

    def _read(self) -> Kept[Value]:
        memory = self._database.read()
        rows: dict[str, _Row[Value]] = {}
        for kind in self._kinds:
            for name, (text, version) in sorted(memory.rows(kind).items()):
                key = self._join(kind, name)
                row = self._rows.get(key)
                rows[key] = row if row and row[0] == version else self._row(key, text, version)
        self._rows = rows
        records = {key: (row[1], row[0]) for key, row in rows.items() if row[1] is not None}
        troubles = {key: (row[2], row[0]) for key, row in rows.items() if row[2] is not None}
        return Kept(memory.revision_of(self._followed), records, troubles)

    def _row(self, key: str, text: str, version: int) -> _Row[Value]:
        try:
            return version, self._codec.read(key, _plain(text)), None
        except ConfigError as error:
            where = f"{key} in the database {self._database.name}"
            # Hints of a codec's own speak of files.
            hinted = ConfigError(str(error), error.hint or AGAIN)
            return version, None, self._codec.problem(key, where, hinted)

    def _text(self, key: str, value: Value | None) -> str | None:
        if value is None:
            return None
        kind, name = self._split(key)
        if not name or "\0" in name:
            raise ConfigError(f"{key[:80]!r} cannot name a record", "choose another name")
        try:
            name.encode()
            data = msgspec.json.encode(self._codec.write(value))
        except UnicodeEncodeError:
            raise ConfigError("a text holds half a character", "write it as UTF-8") from None
        if len(data) > LARGEST:
            raise ConfigError(f"it has {len(data)} bytes; {LARGEST} are allowed", "leave some out")
        self._codec.read(key, _plain(data))  # never write what we cannot read ourselves
        present = self._database.read().rows(kind)
        if name not in present and len(present) >= self._most:
            raise ConfigError(f"there are {self._most} already", "remove one that is not used")
        return data.decode()

    def _split(self, key: str) -> tuple[str, str]:
        if len(self._kinds) == 1:
            return self._kinds[0], key
        kind, _, name = key.partition(" ")
        return kind, name

    def _join(self, kind: str, name: str) -> str:
        return name if len(self._kinds) == 1 else f"{kind} {name}"


def _plain(text: str | bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ConfigError(f"it is not JSON: {error}") from error
