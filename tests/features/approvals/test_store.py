"""All engines keep approvals alike: what was approved, what was first, what is new."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.fixtures.postgres import OpenShared, PostgresServer
from toolyard.core.errors import DatabaseAwayError, StoreError
from toolyard.core.model import Part
from toolyard.core.parts import part_hash
from toolyard.features.approvals.approved import TURNS
from toolyard.features.approvals.shared import SharedApprovals
from toolyard.features.approvals.store import ApprovalStore, SqliteApprovals
from toolyard.records.database import Database
from toolyard.records.postgres.shared import SharedDatabase
from toolyard.records.schema import MIGRATIONS

SERVER = "files@configured"
READ: Part = ("tools", "read")
WRITE: Part = ("tools", "write")
TEXT, OTHER = b'{"name":"read","description":"reads"}', b'{"name":"read","description":"reads!"}'

Opened = Callable[[], ApprovalStore]


@pytest.fixture
def shared(open_shared: OpenShared) -> Callable[[], SharedApprovals]:
    """Opens the approvals of one database, as another hub would."""
    return lambda: SharedApprovals(open_shared(True))


@pytest.fixture
def on_sqlite(tmp_path: Path) -> Iterator[Callable[[], SqliteApprovals]]:
    """Opens the approvals of one file."""
    with ExitStack() as stack:

        def again() -> SqliteApprovals:
            database = Database(tmp_path / "approvals.db", MIGRATIONS)
            stack.callback(database.close)
            return SqliteApprovals(database)

        yield again


@pytest.fixture(params=["on_sqlite", "shared"])
def opened(request: pytest.FixtureRequest) -> Opened:
    """Opens the same approvals again and again, as a hub that starts anew would."""
    opened: Opened = request.getfixturevalue(request.param)
    return opened


def settle(store: ApprovalStore) -> ApprovalStore:
    """Wait until what was noted is written."""
    if isinstance(store, SharedApprovals):
        store._database.outbox.settle()
    return store


def test_nothing_is_approved_at_first(opened: Opened) -> None:
    store = opened()
    assert not store.get(SERVER).parts and not store.definitions(SERVER)
    assert store.launches.get(SERVER) == ""


def test_what_was_approved_is_so_for_the_next_hub(opened: Opened) -> None:
    store = opened()
    store.approve(SERVER, {READ: TEXT, WRITE: b"{}"}, loose=[WRITE], by="somebody")
    for reader in (store, opened()):
        approvals = reader.get(SERVER)
        assert approvals.marks[READ] == part_hash(READ, TEXT)
        assert approvals.loose == {WRITE} and not approvals.unseen
        assert reader.definitions(SERVER) == {READ: TEXT, WRITE: b"{}"}


def test_an_approval_is_withdrawn_from_what_is_gone_and_from_the_text_before(
    opened: Opened,
) -> None:
    store = opened()
    store.approve(SERVER, {READ: TEXT, WRITE: b"{}"})
    store.approve(SERVER, {READ: OTHER}, gone=[WRITE])
    for reader in (store, opened()):
        assert reader.get(SERVER).marks == {READ: part_hash(READ, OTHER)}


def test_first_offers_count_and_then_what_comes_is_new(opened: Opened) -> None:
    store = opened()
    store.note_first(SERVER, {READ: TEXT})
    store.note_new(SERVER, {WRITE: b"{}"}, [READ, WRITE])
    for reader in (settle(store), opened()):
        approvals = reader.get(SERVER)
        assert approvals.has_offers and approvals.unseen == {WRITE}
        assert reader.definitions(SERVER) == {READ: TEXT, WRITE: b"{}"}


def test_a_text_that_comes_and_goes_is_noticed(opened: Opened) -> None:
    store = opened()
    store.note_first(SERVER, {READ: TEXT})
    for text in (OTHER, TEXT) * TURNS:
        store.note_text(SERVER, READ, part_hash(READ, text), text)
    for reader in (settle(store), opened()):
        assert reader.get(SERVER).restless == {READ}
        assert reader.get(SERVER).marks == {READ: part_hash(READ, TEXT)}


def test_the_first_launch_counts_until_another_is_approved(opened: Opened) -> None:
    store = opened()
    store.launches.note_first(SERVER, "first")
    assert settle(store).launches.get(SERVER) == opened().launches.get(SERVER) == "first"
    store.launches.approve(SERVER, "second", by="somebody")
    assert store.launches.get(SERVER) == opened().launches.reread(SERVER) == "second"


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "ünïcode 🙂"])
def test_a_server_may_call_itself_and_its_parts_anything(opened: Opened, name: str) -> None:
    store, server = opened(), f"{name}@configured"
    store.note_first(server, {("tools", name): b'{"name":"\\u0000"}'})
    store.launches.note_first(server, "first")
    settle(store)
    assert opened().definitions(server) == {("tools", name): b'{"name":"\\u0000"}'}
    assert opened().launches.get(server) == "first"


# Hubs that share a database.


def test_of_two_hubs_that_see_a_server_first_one_is(
    shared: Callable[[], SharedApprovals],
) -> None:
    one, other = shared(), shared()
    one.note_first(SERVER, {READ: TEXT})
    one.launches.note_first(SERVER, "one")
    settle(one)
    other.note_first(SERVER, {READ: OTHER, WRITE: b"{}"})
    other.launches.note_first(SERVER, "other")
    settle(other)
    for store in (one, other, shared()):
        store._database.refresh()
        assert store.get(SERVER).marks == {READ: part_hash(READ, TEXT)}
        assert store.launches.get(SERVER) == "one"


def test_what_one_hub_approves_counts_at_the_other_and_it_is_told(
    shared: Callable[[], SharedApprovals],
) -> None:
    one, other = shared(), shared()
    count = other.changes.count
    one.approve(SERVER, {READ: TEXT})
    other._database.refresh()
    assert other.get(SERVER).marks == {READ: part_hash(READ, TEXT)}
    assert other.changes.count > count


def test_notes_that_wait_are_part_of_what_is_approved(
    shared: Callable[[], SharedApprovals],
) -> None:
    store = shared()
    with store._database.transaction() as connection:
        connection.execute("SELECT revision FROM yard FOR UPDATE")  # nobody can write meanwhile
        store.note_first(SERVER, {READ: TEXT, WRITE: b"{}"})
        assert store.get(SERVER).has_offers
    store.approve(SERVER, {READ: OTHER})
    assert settle(store).get(SERVER).marks.keys() == shared().get(SERVER).marks.keys()
    assert shared().definitions(SERVER) == {READ: OTHER, WRITE: b"{}"}


@pytest.mark.slow
def test_while_the_database_is_away_notes_are_kept_and_orders_are_refused(
    postgres: PostgresServer, shared: Callable[[], SharedApprovals]
) -> None:
    store = shared()
    postgres.stop()
    try:
        store.note_first(SERVER, {READ: TEXT})
        assert store.get(SERVER).marks == {READ: part_hash(READ, TEXT)}
        with pytest.raises(DatabaseAwayError):
            store.approve(SERVER, {READ: OTHER})
    finally:
        postgres.start()
    settle(store)
    assert shared().definitions(SERVER) == {READ: TEXT}


def test_where_the_database_was_never_read_nothing_tells_what_was_approved() -> None:
    database = SharedDatabase("postgresql://u@127.0.0.1:1/x", "yard", follows=True)
    store = SharedApprovals(database)
    for ask in (store.get, store.definitions, store.launches.get):
        with pytest.raises(StoreError):
            ask(SERVER)
