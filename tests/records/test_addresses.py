"""Whose addresses are whose is remembered, in the order in which they were claimed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.fixtures.postgres import OpenShared
from toolyard.core.owners import NO_OWNERS
from toolyard.records.addresses import AddressStore, SqliteAddresses
from toolyard.records.database import Database
from toolyard.records.postgres.addresses import SharedAddresses
from toolyard.records.schema import MIGRATIONS

HERE = frozenset({"a@x", "b@x"})


Opened = Callable[[], AddressStore]


@pytest.fixture
def on_sqlite(tmp_path: Path) -> Iterator[Callable[[], SqliteAddresses]]:
    """Opens the claims of one file."""
    with ExitStack() as stack:

        def again() -> SqliteAddresses:
            database = Database(tmp_path / "toolyard.db", MIGRATIONS)
            stack.callback(database.close)
            return SqliteAddresses(database)

        yield again


@pytest.fixture
def shared(open_shared: OpenShared) -> Callable[[], SharedAddresses]:
    """Opens the claims of one database, as another hub would."""
    return lambda: SharedAddresses(open_shared(True))


@pytest.fixture(params=["on_sqlite", "shared"])
def opened(request: pytest.FixtureRequest) -> Opened:
    """Opens the same claims again and again, as a hub that starts anew would."""
    opened: Opened = request.getfixturevalue(request.param)
    return opened


def test_claims_are_there_again_after_a_restart(opened: Opened) -> None:
    store = opened()
    owners = store.kept.claim("b@x", ["mem://2", "mem://1"], HERE).claim("a@x", ["mem://3"], HERE)
    assert store.is_news(owners)
    store.keep(owners)
    assert not store.is_news(owners)
    assert list(opened().kept.claims.items()) == list(owners.claims.items())


def test_what_was_forgotten_is_not_there_again(opened: Opened) -> None:
    store = opened()
    store.keep(NO_OWNERS.claim("a@x", ["mem://1", "mem://2"], HERE))
    store.keep(NO_OWNERS.claim("b@x", ["mem://2"], HERE))
    assert dict(opened().kept.claims) == {"mem://2": "b@x"}


def test_a_database_that_fails_costs_the_memory_and_nothing_else(
    on_sqlite: Callable[[], SqliteAddresses],
) -> None:
    store = on_sqlite()
    store._database.write("DROP TABLE addresses")
    owners = NO_OWNERS.claim("a@x", ["mem://1"], HERE)
    store.keep(owners)
    assert not store.is_news(owners)  # until there is something new
    assert store.kept.claims == {}
    assert on_sqlite().kept.claims == {}


def test_of_two_hubs_that_claim_an_address_the_first_has_it_and_none_loses_another(
    shared: Callable[[], SharedAddresses],
) -> None:
    one, other = shared(), shared()
    count = other.changes.count
    one.keep(NO_OWNERS.claim("a@x", ["mem://1", "mem://2"], HERE))
    theirs = NO_OWNERS.claim("b@x", ["mem://2", "mem://3", "x" * 2000], HERE)
    other.keep(theirs)
    assert other.changes.count > count
    merged = other.merged(theirs)
    assert merged.claims == {
        "mem://1": "a@x",
        "mem://2": "a@x",
        "mem://3": "b@x",
        "x" * 2000: "b@x",
    }
    assert other.merged(merged) is merged
    assert shared().kept.claims == merged.claims


def test_a_claim_that_is_not_written_yet_is_not_lost_to_those_of_others(
    shared: Callable[[], SharedAddresses],
) -> None:
    one, other = shared(), shared()
    one.keep(NO_OWNERS.claim("a@x", ["mem://1"], HERE))
    other._database.refresh()
    merged = other.merged(NO_OWNERS.claim("b@x", ["mem://2"], HERE))
    assert merged.claims == {"mem://1": "a@x", "mem://2": "b@x"}
    other.keep(merged)
    assert shared().kept.claims == merged.claims
