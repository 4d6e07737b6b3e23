"""A row that somebody altered, removed or inserted is named; what was forgotten is not missed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.features.history.calls import record
from tests.fixtures.postgres import SharedYard
from toolyard.features.history.call_log import Bounds, CallLog
from toolyard.features.history.search import Search
from toolyard.features.history.store import History
from toolyard.records.audit import note_change, ordering
from toolyard.records.audit_trail import AuditTrail
from toolyard.records.calls import CallRows, SqliteCalls
from toolyard.records.database import Database
from toolyard.records.postgres.calls import SharedCalls
from toolyard.records.postgres.shared import SharedDatabase
from toolyard.records.schema import MIGRATIONS
from toolyard.records.seals.check import LogCheck
from toolyard.records.seals.logs import SealedLogs

Faults = list[tuple[str, int, int]]
KEY = "a key that only hubs have, not the database"


@dataclass
class Sealed:
    """The sealed logs of one hub, and a way into its database that goes past the hub."""

    logs: SealedLogs
    trail: AuditTrail
    rows: CallRows
    meddle: Callable[[str], None]
    reopen: Callable[[], Sealed]
    unsealing: CallRows
    """The same rows, as a hub of an older version writes them."""
    shared: SharedDatabase | None = None

    def history(self, **bounds: Any) -> History:
        return History(CallLog(self.rows, Bounds(**bounds)))

    def call(self, *tools: str, **bounds: Any) -> None:
        """Have calls recorded, as one batch."""
        history = self.history(**bounds)
        for tool in tools:
            record(history, tool=tool, origin=("anna", "", "10.0.0.7"))
        history.log.flush()
        self.rows.settle()

    def order(self, key: str) -> None:
        with ordering(self.trail.order("ci", "10.0.0.7")):
            if self.shared is None:
                note_change("note", key, None, {"text": key})
            else:
                with self.shared.order() as order:
                    order.put("note", key, '{"text": "first"}')

    def check(self) -> tuple[LogCheck, LogCheck]:
        calls, orders = self.logs.examine(self.trail.read)
        return calls, orders

    def faults(self) -> tuple[Faults, Faults]:
        calls, orders = self.check()
        return _told(calls), _told(orders)


def _told(check: LogCheck) -> Faults:
    return [(fault.fault, fault.first, fault.last) for fault in check.faults]


def alone(home: Path, stack: ExitStack) -> Sealed:
    path = home / "toolyard.db"
    database = Database(path, MIGRATIONS)
    stack.callback(database.close)
    logs = SealedLogs(home, (), home / "toolyard.lock")

    def meddle(sql: str) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.executescript(sql)

    trail = AuditTrail(path, None, database, logs.orders)
    rows = SqliteCalls(database, logs.calls)
    return Sealed(logs, trail, rows, meddle, lambda: alone(home, stack), SqliteCalls(database))


def together(home: Path, stack: ExitStack, yard: SharedYard, name: str = "r1") -> Sealed:
    shared = SharedDatabase(yard.address, yard.schema, follows=False)
    stack.callback(shared.close)
    folder = home / name
    folder.mkdir(exist_ok=True)
    logs = SealedLogs(folder, (KEY,), home / "toolyard.lock", name, is_shared=True)

    def meddle(sql: str) -> None:
        with psycopg.connect(yard.address, autocommit=True) as connection:
            connection.execute(f"SET search_path TO {yard.schema}".encode())
            connection.execute(sql.encode())

    trail = AuditTrail(home / "toolyard.db", shared, None, logs.orders, name)
    rows = SharedCalls(shared, name, logs.calls)
    older = SharedCalls(shared, name)
    again = lambda: together(home, stack, yard, "r2")  # noqa: E731 - a fixture's own
    return Sealed(logs, trail, rows, meddle, again, older, shared)


@pytest.fixture(params=["alone", "together"])
def sealed(request: pytest.FixtureRequest, home: Path) -> Iterator[Sealed]:
    with ExitStack() as stack:
        if request.param == "alone":
            yield alone(home, stack)
        else:
            yield together(home, stack, request.getfixturevalue("shared_yard"))


def fill(sealed: Sealed) -> None:
    sealed.call("one", "two", "three")
    sealed.call("four", "five")
    for key in ("a", "b", "c"):
        sealed.order(key)


async def test_rows_that_nobody_touched_are_whole(sealed: Sealed) -> None:
    fill(sealed)

    calls, orders = sealed.check()

    assert (calls.rows, calls.seals, calls.unsealed, calls.faults) == (5, 2, 0, [])
    assert (orders.rows, orders.seals, orders.unsealed, orders.faults) == (3, 3, 0, [])


@pytest.mark.parametrize("column", ["caller", "member", "address", "error"])
async def test_a_call_that_was_altered_is_named(sealed: Sealed, column: str) -> None:
    fill(sealed)

    sealed.meddle(f"UPDATE call_log SET {column} = 'mallory' WHERE id = 2")

    assert sealed.faults() == ([("altered", 2, 2)], [])


async def test_a_call_that_was_removed_is_named(sealed: Sealed) -> None:
    fill(sealed)

    sealed.meddle("DELETE FROM call_log WHERE id = 4")

    assert sealed.faults() == ([("removed", 4, 4)], [])


async def test_a_call_that_was_inserted_is_named(sealed: Sealed) -> None:
    fill(sealed)
    values = "at, agent, caller, server, tool, ms, asked, answered, outcome, error"
    more = "" if sealed.shared is None else ", replica"
    sealed.meddle(
        f"INSERT INTO call_log (id, {values}{more}) SELECT 6, {values}{more} FROM call_log"
        " WHERE id = 1"
    )
    if sealed.shared is not None:
        sealed.meddle("SELECT nextval('call_ids')")
    sealed.call("six")

    assert sealed.faults() == ([("inserted", 6, 6)], [])


async def test_calls_that_changed_places_are_both_named(sealed: Sealed) -> None:
    fill(sealed)

    sealed.meddle("UPDATE call_log SET id = 99 WHERE id = 1")
    sealed.meddle("UPDATE call_log SET id = 1 WHERE id = 2")
    sealed.meddle("UPDATE call_log SET id = 2 WHERE id = 99")

    assert sealed.faults() == ([("altered", 1, 1), ("altered", 2, 2)], [])


async def test_orders_that_were_altered_removed_and_inserted_are_named(sealed: Sealed) -> None:
    fill(sealed)

    sealed.meddle("UPDATE audit SET by = 'mallory' WHERE id = 1")
    sealed.meddle("DELETE FROM audit WHERE id = 2")
    sealed.meddle(
        "INSERT INTO audit (id, at, by, address, verb, kind, key)"
        " VALUES (7, 1, 'mallory', '', 'put', 'note', 'd')"
    )

    assert sealed.faults() == (
        [],
        [("altered", 1, 1), ("removed", 2, 2), ("inserted", 7, 7)],
    )


async def test_who_has_no_key_cannot_seal_what_they_altered(sealed: Sealed) -> None:
    fill(sealed)
    sealed.meddle("UPDATE call_log SET caller = 'mallory' WHERE id = 2")
    forged = "zeroblob(24)" if sealed.shared is None else "decode(repeat('00', 24), 'hex')"
    sealed.meddle(f"UPDATE seals SET body = {forged} WHERE log = 'call_log' AND number = 1")

    calls, _ = sealed.faults()

    assert calls[0] == ("seal altered", 1, 1)


async def test_a_batch_that_was_cut_out_with_its_seal_is_noticed(sealed: Sealed) -> None:
    fill(sealed)
    sealed.call("six")

    sealed.meddle("DELETE FROM call_log WHERE id IN (4, 5)")
    sealed.meddle("DELETE FROM seals WHERE log = 'call_log' AND number = 2")

    assert sealed.faults() == ([("seals missing", 2, 2)], [])


async def test_a_batch_that_was_cut_off_the_end_is_noticed(sealed: Sealed) -> None:
    fill(sealed)

    sealed.meddle("DELETE FROM call_log WHERE id > 3")
    sealed.meddle("DELETE FROM seals WHERE log = 'call_log' AND number = 2")
    sealed.meddle("DELETE FROM audit WHERE id = 3")
    sealed.meddle("DELETE FROM seals WHERE log = 'audit' AND number = 3")

    ended = [("end missing", 2, 2)], [("end missing", 3, 3)]
    assert sealed.faults() == ended
    sealed.call("six")  # what goes on after it does not hide it
    assert sealed.faults()[0] == [("seals missing", 2, 2)]


async def test_what_was_forgotten_breaks_no_chain_and_takes_its_seals_along(
    sealed: Sealed,
) -> None:
    for number in range(20):
        sealed.call(f"tool {number}", f"other {number}")
    sealed.call("last", rows=11)

    calls, _ = sealed.check()

    assert (calls.rows, calls.forgotten, calls.faults) == (11, 30, [])
    assert calls.seals < 10
    sealed.meddle("DELETE FROM call_log WHERE id = 31")
    assert sealed.faults()[0] == [("removed", 31, 31)]


async def test_rows_from_before_the_seals_are_not_sealed_and_not_broken(sealed: Sealed) -> None:
    replace(sealed, rows=sealed.unsealing).call("old", "older")
    sealed.call("new")

    calls, _ = sealed.check()

    assert (calls.rows, calls.unsealed, calls.faults) == (1, 2, [])


async def test_another_hub_continues_the_chain(sealed: Sealed) -> None:
    fill(sealed)
    other = sealed.reopen()

    other.call("six")
    other.order("d")
    sealed.call("seven")

    for hub in (sealed, other):
        calls, orders = hub.check()
        assert (calls.rows, calls.seals, calls.faults) == (7, 4, [])
        assert (orders.rows, orders.seals, orders.faults) == (4, 4, [])


async def test_a_call_says_who_made_it_and_what_was_ordered_and_locked_then(
    sealed: Sealed, home: Path
) -> None:
    sealed.call("before")
    sealed.order("a")
    (home / "toolyard.lock").write_text("{}")
    sealed.call("after")

    after, before = (await sealed.history().search(Search())).calls

    assert (after.member, after.address) == ("anna", "10.0.0.7")
    assert (before.ordered, before.lock) == (0, "")
    # The beginning of what `sha256sum toolyard.lock` prints.
    assert (after.ordered, after.lock) == (1, "44136fa355b3")
    assert (await sealed.history().get(after.id)).call == after


def test_the_key_is_apart_from_the_database_and_nobody_else_reads_it(home: Path) -> None:
    with ExitStack() as stack:
        alone(home, stack)

    assert (home / "history.key").stat().st_mode & 0o777 == 0o600
    assert (home / "history.key").read_bytes().strip() not in (home / "toolyard.db").read_bytes()
