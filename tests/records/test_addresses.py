"""Whose addresses are whose is remembered, in the order in which they were claimed."""

from __future__ import annotations

from pathlib import Path

from toolyard.core.owners import NO_OWNERS
from toolyard.records.addresses import AddressStore
from toolyard.records.database import Database
from toolyard.records.schema import MIGRATIONS

HERE = frozenset({"a@x", "b@x"})


def opened(home: Path) -> AddressStore:
    return AddressStore(Database(home / "toolyard.db", MIGRATIONS))


def test_claims_are_there_again_after_a_restart(home: Path) -> None:
    store = opened(home)
    owners = store.kept.claim("b@x", ["mem://2", "mem://1"], HERE).claim("a@x", ["mem://3"], HERE)
    assert store.is_news(owners)
    store.keep(owners)
    assert not store.is_news(owners)
    assert list(opened(home).kept.claims.items()) == list(owners.claims.items())


def test_what_was_forgotten_is_not_there_again(home: Path) -> None:
    store = opened(home)
    store.keep(NO_OWNERS.claim("a@x", ["mem://1", "mem://2"], HERE))
    store.keep(NO_OWNERS.claim("b@x", ["mem://2"], HERE))
    assert dict(opened(home).kept.claims) == {"mem://2": "b@x"}


def test_a_database_that_fails_costs_the_memory_and_nothing_else(home: Path) -> None:
    store = opened(home)
    store._database.write("DROP TABLE addresses")
    owners = NO_OWNERS.claim("a@x", ["mem://1"], HERE)
    store.keep(owners)
    assert not store.is_news(owners)  # until there is something new
    assert store.kept.claims == {}
    assert opened(home).kept.claims == {}
