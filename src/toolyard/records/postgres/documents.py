"""Records of one kind, shown and edited as the JSON document that others keep in a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from toolyard.core.errors import ConfigError, ConflictError, StoreError
from toolyard.core.model import Problem
from toolyard.core.problems import ProblemCode
from toolyard.records.jsonc import parse
from toolyard.records.postgres.records import PostgresRecords
from toolyard.records.postgres.shared import SharedDatabase

_TRIES: Final = 20


class PlainCodec:
    """Takes JSON as it is: whoever reads the document judges it."""

    def read(self, key: str, plain: Any) -> Any:
        """Return plain data."""
        return plain

    def write(self, value: Any) -> Any:
        """Return plain data."""
        return value

    def problem(self, key: str | None, where: str, error: ConfigError | StoreError) -> Problem:
        """Say that nothing can be read."""
        return Problem(ProblemCode.DATABASE_AWAY, str(error), error.hint, where)


class SharedDocument:
    """A document with one member, below which every record of a kind stands."""

    def __init__(self, database: SharedDatabase, kind: str, top: str) -> None:
        self._database = database
        self._records: PostgresRecords[Any] = PostgresRecords(database, PlainCodec(), (kind,))
        self._top = top
        self.place = f"the database {database.name}"
        """The document as messages have it."""

    def revision(self) -> int:
        """A number that is another as soon as the document is."""
        return self._records.revision()

    async def changed(self, after: int) -> None:
        """Wait until the revision is another than `after`."""
        await self._records.changed(after)

    def load(self) -> bytes:
        """Return the document.

        Raises:
            StoreError: It cannot be read.
        """
        return self._render(self._read()[0])

    def change(self, edit: Callable[[bytes], bytes], *, by: str = "") -> None:
        """Write what `edit` makes of the document; what others change meanwhile is not lost.

        Raises:
            ConfigError: A record cannot be used, or the document would be none.
            ConflictError: Others were quicker time and again.
            StoreError: It cannot be read or written.
        """
        for _ in range(_TRIES):
            before, versions = self._read()
            after = self._parse(edit(self._render(before)))
            names = [n for n in {**before, **after} if _text(before, n) != _text(after, n)]
            if not names:
                return
            try:
                expect = {name: versions.get(name, 0) for name in names}
                written = {name: after.get(name) for name in names}
                self._records.write_all(written, expect=expect, by=by)
                return
            except ConflictError as error:
                conflict = error
        raise conflict

    def _read(self) -> tuple[dict[str, Any], dict[str, int]]:
        kept = self._records.read()
        if kept.failure is not None:
            self._database.read()  # fails likewise: whether the database is away is in the kind
            raise StoreError(kept.failure.text, kept.failure.hint)
        return kept.values, kept.versions

    def _render(self, records: dict[str, Any]) -> bytes:
        return json.dumps({self._top: records}, indent=2).encode()

    def _parse(self, data: bytes) -> dict[str, Any]:
        root = parse(data).root
        plain = root.plain() if root is not None else None
        records = plain.get(self._top, {}) if isinstance(plain, dict) else None
        if not isinstance(records, dict):
            raise ConfigError(f"'{self._top}' is not a JSON object", "write it as { ... }")
        return records


def _text(records: dict[str, Any], name: str) -> str:
    """One spelling of a record, without one a spelling of its own."""
    return json.dumps(records[name]) if name in records else ""
