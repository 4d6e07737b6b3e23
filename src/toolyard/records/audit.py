"""The audit trail: every order that changed what is kept, with who gave it, before and after.

Whoever carries out an order says so for as long as that takes. Where hubs share a database, the
order's own transaction writes the trail; else whatever writes a record notes its change here.
Values of secrets are in none of it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import time
from typing import Any, Final, Literal, TypeVar

import msgspec

from toolyard.records.database import Row
from toolyard.records.protocol import Codec, RecordKind, Records
from toolyard.records.seals.chain import LogChain
from toolyard.records.seals.model import RowSpan, Run, sqlite_run
from toolyard.records.secrets.mask import (
    HIDDEN,
    MASK,
    hide_in_addresses,
    hide_in_words,
    is_reference,
)
from toolyard.records.secrets.plain_secrets import is_plain_secret, is_plain_setting

Value = TypeVar("Value")
Verb = Literal["put", "delete"]
KEPT_DAYS: Final = 365
MOST: Final = 100_000
"""Orders that are kept; of more, the newest."""
LARGEST: Final = 16 * 1024
"""Characters of a record that are kept, before and after."""
TOO_LARGE: Final = '"[larger than 16 KiB: not kept]"'
MIGRATION: Final = """
CREATE TABLE audit (
    id INTEGER PRIMARY KEY, at REAL NOT NULL, by TEXT NOT NULL, address TEXT NOT NULL,
    verb TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, before TEXT, after TEXT
)
"""
ORIGINS: Final = """
ALTER TABLE audit ADD COLUMN agent TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN member TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN token TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN replica TEXT NOT NULL DEFAULT ''
"""
"""The program that gave an order, by its own account, the member and their token, and the hub."""
ORDER_COLUMNS: Final = ("at", "by", "address", "verb", "kind", "key", "before", "after")
"""The columns that every order has."""
MORE_ORDER_COLUMNS: Final = ("agent", "member", "token", "replica")
"""Those that most leave empty."""
_SECRET_KINDS: Final = ("secret", "grant", "member_secret", "account", "authorization")
_VALUES: Final = ("env", "environment", "headers", "values", "variables")
"""Members of a record in which each value may be a secret."""
_INSERT: Final = (
    "INSERT INTO audit (at, by, address, verb, kind, key, before, after,"
    " agent, member, token, replica) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
# Both are the oldest: ids grow with time. A few go with every order, so none takes long.
_OLD: Final = """
SELECT max(id) FROM audit WHERE id IN (SELECT id FROM audit ORDER BY id LIMIT 100)
AND (at < ? OR id <= (SELECT max(id) FROM audit) - ?)
"""
_PRUNE: Final = "DELETE FROM audit WHERE id <= ?"


@dataclass(frozen=True, slots=True)
class OrderOrigin:
    """Where an order came from, beside the name of its token and its address."""

    agent: str = ""
    """The program that gave it, by its own account; nothing proves it."""
    member: str = ""
    """The key of the member who gave it; empty for the hub's owner."""
    token: str = ""
    """The mark of the token that a member made and came in with."""
    replica: str = ""
    """The hub that carried it out; empty where hubs share no database."""


NOBODY: Final = OrderOrigin()


@dataclass(frozen=True, slots=True)
class OrderUnderWay:
    """An order that is being carried out."""

    by: str
    """The name of the token, `control` for the hub's own, `page`, or `command line`."""
    address: str = ""
    """The address it came from, if it came over one."""
    keep: Callable[[Row], None] | None = None
    """Writes a row of the trail; None where the shared database does."""
    origin: OrderOrigin = NOBODY
    chain: LogChain | None = None
    """Seals the rows of the trail; None if there is no key."""
    done: Callable[[], None] | None = None
    """Hears that the order is over."""


_UNDER_WAY: Final[ContextVar[OrderUnderWay | None]] = ContextVar("order", default=None)


@contextmanager
def ordering(order: OrderUnderWay) -> Iterator[None]:
    """Carry out an order: what is written meanwhile, also by threads begun here, belongs to it."""
    token = _UNDER_WAY.set(order)
    try:
        yield
    finally:
        _UNDER_WAY.reset(token)
        if order.done is not None:
            order.done()


def is_ordered() -> bool:
    """Say whether an order is under way; else a hub changes something by itself."""
    return _UNDER_WAY.get() is not None


def audit_row(kind: str, key: str, before: Any, after: Any) -> Row | None:
    """Return the row of a change by the order under way; None if a hub changed it by itself.

    Args:
        before: The record as plain data; None if there was none.
        after: The same; None if it is deleted.
    """
    order = _UNDER_WAY.get()
    if order is None:
        return None
    verb: Verb = "delete" if after is None else "put"
    texts, origin = (_text(kind, before), _text(kind, after)), order.origin
    more = (origin.agent, origin.member, origin.token, origin.replica)
    return (time(), order.by, order.address, verb, kind, key, *texts, *more)


def note_change(kind: str, key: str, before: Any, after: Any) -> None:
    """Record a change of something that is no row of a database; see `audit_row`."""
    order, row = _UNDER_WAY.get(), audit_row(kind, key, before, after)
    if order is not None and order.keep is not None and row is not None:
        order.keep(row)


def write_row(connection: sqlite3.Connection, row: Row | None) -> None:
    """Add a row to the hub's own trail, within a transaction."""
    if row is not None:
        id_ = connection.execute(_INSERT, row).lastrowid
        assert id_ is not None
        run = sqlite_run(connection)
        seal_order(run, id_, row)
        prune_orders(run)


def seal_order(run: Run, id_: int, row: Row) -> None:
    """Seal a row that was just written, if the order under way says how."""
    order = _UNDER_WAY.get()
    if order is not None and order.chain is not None:
        marks = order.chain.mark((*ORDER_COLUMNS, *MORE_ORDER_COLUMNS), [row])
        order.chain.seal_rows(run, id_, marks)


def prune_orders(run: Run) -> None:
    """Forget the oldest orders, a few at a time, and say so in the chain."""
    ((floor,),) = run(_OLD, (time() - KEPT_DAYS * 86400.0, MOST))
    if floor is None:
        return
    run(_PRUNE, (floor,))
    order = _UNDER_WAY.get()
    if order is not None and order.chain is not None:
        order.chain.forget(run, [RowSpan(0, floor)])


class AuditedRecords(RecordKind[Value]):
    """Records that are files: each change is noted once it is written."""

    def __init__(self, records: Records[Value], kind: str, codec: Codec[Value]) -> None:
        super().__init__(records)
        self._kind, self._codec = kind, codec

    def write(
        self, key: str, value: Value | None, *, expect: int | None = None, by: str = ""
    ) -> int:
        """Write or delete one record; see `Records.write`."""
        before = self.read().values.get(key) if is_ordered() else None
        version = super().write(key, value, expect=expect, by=by)
        note_change(self._kind, key, self._plain(before), self._plain(value))
        return version

    def _plain(self, value: Value | None) -> Any:
        return None if value is None else self._codec.write(value)


def _text(kind: str, plain: Any) -> str | None:
    if plain is None or kind in _SECRET_KINDS:
        return None
    text = MASK.hide(msgspec.json.encode(_without_secrets(plain)).decode())
    return text if len(text) <= LARGEST else TOO_LARGE


def _without_secrets(value: Any, name: str = "", inside: str = "") -> Any:
    """Return plain data with a mark in place of whatever may be a secret."""
    if isinstance(value, dict):
        return {key: _without_secrets(item, key, name) for key, item in value.items()}
    if isinstance(value, list):
        if all(isinstance(item, str) for item in value):
            value = hide_in_words(value)
        return [_without_secrets(item) for item in value]
    if not isinstance(value, str):
        return value
    if inside in _VALUES and not (is_reference(value) or is_plain_setting(name, value)):
        return HIDDEN
    return HIDDEN if is_plain_secret(name, value) else hide_in_addresses(value)
