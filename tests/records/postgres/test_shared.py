"""A yard in PostgreSQL: its tables, its revisions, and what is known while it is away."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.fixtures.postgres import PostgresServer, SharedYard
from toolyard.core.errors import ConfigError, DatabaseAwayError, StoreError
from toolyard.core.model import Report
from toolyard.core.problems import ProblemCode
from toolyard.features.profiles.store import ProfileCodec
from toolyard.features.quirks.store import QuirkCodec
from toolyard.records.postgres.listening import SharedListener
from toolyard.records.postgres.memory import Memory
from toolyard.records.postgres.records import PostgresRecords
from toolyard.records.postgres.shared import SharedDatabase
from toolyard.records.protocol import Codec

Opened = Callable[..., SharedDatabase]


@pytest.fixture
def opened(shared_yard: SharedYard) -> Iterator[Opened]:
    """Opens the yard as another hub would."""
    with ExitStack() as stack:

        def again(follows: bool = True) -> SharedDatabase:
            database = SharedDatabase(shared_yard.address, shared_yard.schema, follows=follows)
            stack.callback(database.close)
            return database

        yield again


def put(database: SharedDatabase, key: str, text: str | None) -> int:
    with database.order("somebody") as order:
        order.put("note", key, text)
    return order.revision


def change(database: SharedDatabase, statement: str) -> None:
    with database.transaction() as connection:
        connection.execute(statement.encode())


def test_hubs_that_come_at_once_make_the_tables_once(opened: Opened) -> None:
    with ThreadPoolExecutor(6) as pool:
        databases = list(pool.map(lambda _: opened(), range(6)))
    put(databases[0], "a", "1")
    databases[1].refresh()
    assert databases[1].read().rows("note") == {"a": ("1", 1)}


def test_yards_of_one_database_do_not_know_each_other(postgres: PostgresServer) -> None:
    yards = [postgres.new_yard() for _ in range(2)]
    one, other = (SharedDatabase(yard.address, yard.schema, follows=False) for yard in yards)
    put(one, "a", "1")
    assert other.read().rows("note") == {}
    one.close()
    other.close()


def test_a_database_without_an_encoding_keeps_every_letter(postgres: PostgresServer) -> None:
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        connection.execute("CREATE DATABASE plain ENCODING 'SQL_ASCII' TEMPLATE template0")
    address = make_conninfo(postgres.address, dbname="plain")
    database = SharedDatabase(address, postgres.new_yard().schema, follows=False)
    put(database, "ä", '"grüß"')
    assert database.read().rows("note") == {"ä": ('"grüß"', 1)}
    database.close()


def test_a_hub_works_with_tables_of_a_newer_one_until_it_is_left_behind(opened: Opened) -> None:
    database = opened()
    change(database, "UPDATE yard SET schema = 99")
    put(opened(), "a", "1")
    change(database, "UPDATE yard SET least = 99")
    with pytest.raises(StoreError, match="newer toolyard"):
        opened(follows=False).read()


def test_an_order_that_fails_leaves_no_trace(opened: Opened) -> None:
    database = opened()

    def change_mind() -> None:
        with database.order() as order:
            order.put("note", "a", "1")
            raise ValueError("changed its mind")

    with pytest.raises(ValueError, match="changed its mind"):
        change_mind()
    assert put(database, "b", "2") == 1, "revisions have no gaps"
    assert database.read().rows("note") == {"b": ("2", 1)}


def test_members_of_a_record_keep_their_order_and_numbers_their_spelling(opened: Opened) -> None:
    put(opened(), "a", '{"long": 1.10, "b": 2, "a": "\\u0000"}')
    ((text, _),) = opened().read().rows("note").values()
    assert text == '{"long": 1.10, "b": 2, "a": "\\u0000"}'


def test_a_deletion_is_noticed_also_by_who_missed_that_it_was_pruned(opened: Opened) -> None:
    writer, sleeper = opened(), opened()
    put(writer, "a", "1")
    put(writer, "b", "2")
    sleeper.refresh()
    put(writer, "a", None)
    change(writer, "UPDATE records SET at = now() - interval '2 days'")
    writer.prune()
    put(writer, "c", "3")
    sleeper.refresh()
    assert set(sleeper.read().rows("note")) == {"b", "c"}


def test_a_kind_is_at_another_revision_only_if_one_of_its_records_is() -> None:
    memory = Memory().changed(1, [("note", "a", "1", 1), ("other", "x", "9", 1)])
    later = memory.changed(2, [("note", "a", None, 2)])
    assert later.differing(memory) == {"note"}
    assert (later.revision_of(["note"]), later.revision_of(["other"])) == (2, 1)
    assert later.revision_of(["third"]) == 0 and Memory().revision_of(["note"]) == -1


@pytest.mark.parametrize("address", ["postgresql://u:sesame@[::1/x", "postgresql://u:sesame@h?x=y"])
def test_an_address_that_cannot_be_understood_is_not_shown(address: str) -> None:
    with pytest.raises(ConfigError) as error:
        SharedDatabase(address, "yard", follows=False)
    assert "sesame" not in str(error.value) + error.value.hint


def test_a_database_that_is_nowhere_is_away_and_nothing_is_known() -> None:
    address = "postgresql://u:sesame@127.0.0.1:1/x"
    database = SharedDatabase(address, "yard", follows=True)
    with pytest.raises(DatabaseAwayError) as error:
        database.read()
    assert error.value.problem_code == ProblemCode.DATABASE_AWAY
    assert "sesame" not in str(error.value) and "127.0.0.1" in str(error.value)


@pytest.mark.slow
async def test_a_hub_goes_on_with_what_it_knows_and_follows_again_by_itself(
    postgres: PostgresServer, opened: Opened
) -> None:
    database, other = opened(), opened(follows=False)
    changes = database.follow(["note"])
    reports: asyncio.Queue[Report] = asyncio.Queue()
    listener = SharedListener(database, poll_seconds=3600, pause_seconds=0.05)
    async with asyncio.timeout(120), asyncio.TaskGroup() as group:
        task = group.create_task(listener.run(reports.put_nowait))
        count = changes.count
        await asyncio.to_thread(put, other, "a", "1")
        count = await changes.wait(count)
        for stop in (postgres.stop, postgres.crash):
            await asyncio.to_thread(stop)
            (problem,) = (await reports.get()).problems
            assert problem.code == ProblemCode.DATABASE_AWAY
            with pytest.raises(DatabaseAwayError):
                await asyncio.to_thread(put, database, "b", "2")
            assert database.read().rows("note")["a"] == ("1", 1)
            await asyncio.to_thread(postgres.start)
            await asyncio.to_thread(put, other, "c", "3")
            await changes.wait(count)
            count = changes.count
            assert (await reports.get()).problems == ()
        task.cancel()
    assert set(database.read().rows("note")) == {"a", "c"}


@pytest.mark.parametrize(
    ("codec", "text"),
    [(ProfileCodec(), '{"title": 5}'), (QuirkCodec(), '{"relists": 5}')],
    ids=["profile", "quirk"],
)
def test_a_record_that_cannot_be_used_has_a_hint_that_speaks_of_no_file(
    opened: Opened, codec: Codec[Any], text: str
) -> None:
    database = opened(follows=False)
    put(database, "bad", text)
    (problem,) = PostgresRecords(database, codec, ("note",)).read().problems
    assert problem.hint == "write it again, or remove it"
    assert "bad in the database" in problem.text


def test_a_connection_that_is_in_use_is_closed_once_it_is_not(opened: Opened) -> None:
    database = opened()
    with database.transaction() as connection:
        database.close()
        assert not connection.closed
    assert connection.closed
