"""The rows of calls on every engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.fixtures.postgres import SharedYard, postgres, shared_yard
from toolyard.records.calls import CallRows, SqliteCalls
from toolyard.records.database import Database
from toolyard.records.postgres.calls import SharedCalls
from toolyard.records.postgres.shared import SharedDatabase
from toolyard.records.schema import MIGRATIONS

__all__ = ["postgres", "shared_yard"]
OpenShared = Callable[[str], SharedCalls]


@pytest.fixture
def database(home: Path) -> Iterator[Database]:
    """The database of one hub."""
    opened = Database(home / "toolyard.db", MIGRATIONS)
    yield opened
    opened.close()


@pytest.fixture
def on_sqlite(database: Database) -> CallRows:
    """The rows of one hub."""
    return SqliteCalls(database)


@pytest.fixture
def open_shared(shared_yard: SharedYard) -> Iterator[OpenShared]:
    """Opens the rows that hubs share, as the hub of this name does."""
    with ExitStack() as stack:

        def open_as(replica: str) -> SharedCalls:
            database = SharedDatabase(shared_yard.address, shared_yard.schema, follows=False)
            stack.callback(database.close)
            return SharedCalls(database, replica)

        yield open_as


@pytest.fixture
def on_postgres(open_shared: OpenShared) -> CallRows:
    """The rows that hubs share."""
    return open_shared("r1")


@pytest.fixture(params=["on_sqlite", "on_postgres"])
def rows(request: pytest.FixtureRequest) -> CallRows:
    """The rows of calls, wherever they are kept."""
    rows: CallRows = request.getfixturevalue(request.param)
    return rows
