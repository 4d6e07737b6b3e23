"""The audit trail as it is kept and searched: of one hub, or of all that share a database."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from toolyard.core.errors import StoreError
from toolyard.records.audit import OrderUnderWay, Verb, write_row
from toolyard.records.database import Database, Row
from toolyard.records.schema import MIGRATIONS

if TYPE_CHECKING:
    from toolyard.records.postgres.shared import SharedDatabase

log = logging.getLogger(__name__)

RecordJson = Annotated[
    Any, msgspec.Meta(description="A record as JSON, without secrets; null if there was none.")
]
_COLUMNS: Final = "at, by, address, verb, kind, key, before, after"


class AuditedOrder(msgspec.Struct, frozen=True):
    """One record that an order changed."""

    id: int
    at: datetime
    by: str
    """The name of the token, `control` for the hub's own, `page`, or `command line`."""
    address: str
    """The address the order came from; empty if it came over none."""
    verb: Verb
    kind: str
    key: str
    before: RecordJson
    """The record as it was, without secrets; null if there was none, and for secrets."""
    after: RecordJson
    """The record as it is since, without secrets; null if it was deleted, and for secrets."""


@dataclass(frozen=True, slots=True)
class WantedOrders:
    """The orders to find; what is empty matches all."""

    by: str = ""
    kind: str = ""
    """A kind, or a family of them."""
    key: str = ""
    since: float = 0.0
    before: int = 0
    """Only rows with a smaller id."""
    limit: int = 50


class AuditTrail:
    """The trail of this hub, or of all that share a database; every method blocks."""

    def __init__(
        self, path: Path, shared: SharedDatabase | None, own: Database | None = None
    ) -> None:
        """Keep the trail.

        Args:
            path: That of the hub's own database.
            own: The same, where a hub has it open.
        """
        self._path, self._shared, self._own = path, shared, own

    def order(self, by: str, address: str = "") -> OrderUnderWay:
        """An order that is recorded here."""
        return OrderUnderWay(by, address, self._keep if self._shared is None else None)

    def search(self, wanted: WantedOrders) -> list[AuditedOrder]:
        """Return what matches, newest first.

        Raises:
            StoreError: It cannot be read.
        """
        conditions, values = "at >= ?", list[Any]([wanted.since])
        if wanted.kind:
            # A family has a kind for each of its servers, such as `approval git@configured`.
            conditions += " AND (kind = ? OR substr(kind, 1, ?) = ?)"
            values += [wanted.kind, len(wanted.kind) + 1, f"{wanted.kind} "]
        for column in ("by", "key"):
            if value := getattr(wanted, column):
                conditions += f" AND {column} = ?"
                values.append(value)
        if wanted.before:
            conditions += " AND id < ?"
            values.append(wanted.before)
        sql = (  # made of our own words; what people look for are its values
            f"SELECT id, {_COLUMNS} FROM audit WHERE {conditions}"  # noqa: S608 - see above
            f" ORDER BY id DESC LIMIT {wanted.limit}"
        )
        return [_audited(row) for row in self._read(sql, values)]

    def _read(self, sql: str, values: Sequence[Any]) -> list[Row]:
        if self._shared is not None:
            with self._shared.transaction() as connection:
                return connection.execute(sql.replace("?", "%s").encode(), values).fetchall()
        with self._opened() as database:
            return database.read(sql, values)

    def _keep(self, row: Row) -> None:
        try:
            with self._opened() as database, database.change() as connection:
                write_row(connection, row)
        except StoreError as error:  # the order itself is done
            log.warning("an order is not in the audit trail", extra={"why": str(error)})

    @contextmanager
    def _opened(self) -> Iterator[Database]:
        if self._own is not None:
            yield self._own
            return
        with closing(Database(self._path, MIGRATIONS)) as database:
            yield database


def _audited(row: Row) -> AuditedOrder:
    id_, at, by, address, verb, kind, key, before, after = row
    values = (None if text is None else msgspec.json.decode(text) for text in (before, after))
    return AuditedOrder(id_, datetime.fromtimestamp(at, UTC), by, address, verb, kind, key, *values)
