"""The audit trail as it is kept and searched: of one hub, or of all that share a database."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from toolyard.core.errors import StoreError
from toolyard.records.audit import (
    MORE_ORDER_COLUMNS,
    NOBODY,
    ORDER_COLUMNS,
    OrderOrigin,
    OrderUnderWay,
    Verb,
    write_row,
)
from toolyard.records.database import Database, Row
from toolyard.records.schema import MIGRATIONS
from toolyard.records.seals.chain import LogChain

if TYPE_CHECKING:
    from toolyard.records.postgres.shared import SharedDatabase

log = logging.getLogger(__name__)

RecordJson = Annotated[
    Any, msgspec.Meta(description="A record as JSON, without secrets; null if there was none.")
]
_COLUMNS: Final = ", ".join((*ORDER_COLUMNS, *MORE_ORDER_COLUMNS))


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
    agent: str = ""
    """The program that gave the order, by its own account; nothing proves it."""
    member: str = ""
    """The key of the member who gave it; empty for the hub's owner."""
    token: str = ""
    """The mark of the token that a member made and came in with."""
    replica: str = ""
    """The hub that carried it out; empty where hubs share no database."""


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
        self,
        path: Path,
        shared: SharedDatabase | None,
        own: Database | None = None,
        chain: LogChain | None = None,
        replica: str = "",
    ) -> None:
        """Keep the trail.

        Args:
            path: That of the hub's own database.
            own: The same, where a hub has it open.
            chain: Seals what is written; None if there is no key.
            replica: The name of this hub, where hubs share a database.
        """
        self._path, self._shared, self._own = path, shared, own
        self._chain = chain
        self.replica = replica if shared is not None else ""
        """The name under which this hub writes; empty where hubs share no database."""
        self.listeners: list[Callable[[], None]] = []
        """Hear, in any thread, that an order is over."""

    def order(self, by: str, address: str = "", origin: OrderOrigin = NOBODY) -> OrderUnderWay:
        """An order that is recorded here."""
        keep = self._keep if self._shared is None else None
        origin = replace(origin, replica=self.replica)
        return OrderUnderWay(by, address, keep, origin, self._chain, self._done)

    def _done(self) -> None:
        self._confirm()
        for listener in self.listeners:
            listener()

    def _confirm(self) -> None:
        """Note the newest seal away from the database, once it is surely there."""
        if self._chain is None or not self._chain.is_pending:
            return
        try:
            self._chain.confirm(lambda sql, values: self.read(sql, values))
        except StoreError as error:  # the order itself is done
            log.debug("the newest seal was not noted", extra={"why": str(error)})

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
        return [_audited(row) for row in self.read(sql, values)]

    def after(self, id_: int, most: int) -> list[AuditedOrder]:
        """Return the orders of this hub after one, in their order.

        Raises:
            StoreError: They cannot be read.
        """
        sql = f"SELECT id, {_COLUMNS} FROM audit WHERE id > ? AND replica = ?"  # noqa: S608 - our own words
        rows = self.read(f"{sql} ORDER BY id LIMIT {most}", (id_, self.replica))
        return [_audited(row) for row in rows]

    def newest(self) -> int:
        """Return the id of the newest order; 0 if there is none, or nobody can tell now."""
        try:
            ((id_,),) = self.read("SELECT coalesce(max(id), 0) FROM audit", ())
        except StoreError as error:
            log.warning("orders from before are exported, too", extra={"why": str(error)})
            return 0
        return int(id_)

    def read(self, sql: str, values: Sequence[Any]) -> list[Row]:
        """Return all rows of a query about the database in which the trail is.

        Raises:
            StoreError: They cannot be read.
        """
        if self._shared is not None:
            from toolyard.records.postgres.connections import postgres_run

            with self._shared.transaction() as connection:
                return postgres_run(connection)(sql, values)
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
    id_, at, by, address, verb, kind, key, before, after, *origin = row
    values: Row = tuple(
        None if text is None else msgspec.json.decode(text) for text in (before, after)
    )
    when, names = datetime.fromtimestamp(at, UTC), (by, address, verb, kind, key)
    return AuditedOrder(id_, when, *names, *values, *origin)
