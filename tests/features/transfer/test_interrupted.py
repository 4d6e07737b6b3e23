"""Ctrl-C amid `apply`: what was written is whole, and applying again does the rest."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import psycopg
import pytest

from tests.cli.conftest import Done, Toolyard
from tests.e2e.hub import environment, running_hub
from tests.features.setup.person import at_terminal
from tests.features.transfer.yards import Json
from tests.fixtures.postgres import PostgresServer
from toolyard.console.exits import Exit
from toolyard.records.audit_trail import AuditTrail, WantedOrders
from toolyard.records.state import DATABASE
from toolyard.settings import read_settings

COUNT = 100
DOCUMENT: Json = {
    "version": 1,
    "servers": {
        f"s{number}": {"command": "x", "args": [str(number)], "disabled": True}
        for number in range(COUNT)
    },
    "profiles": {f"p{number}": {"allow": [f"s{number}"]} for number in range(COUNT)},
    "quirks": {"cursor": {"most_tools": 40}},
}
PATIENCE = 120.0


@pytest.fixture
def file(home: Path) -> Path:
    """A document with so many changes that they take a while."""
    path = home / "yard.json"
    path.write_text(json.dumps(DOCUMENT))
    return path


@pytest.fixture(params=["files", "postgres"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The place of the yard."""
    if request.param == "postgres":
        postgres: PostgresServer = request.getfixturevalue("postgres")
        for name, value in postgres.new_yard().environment.items():
            monkeypatch.setenv(name, value)
    return str(request.param)


@contextmanager
def hub_at(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A hub on the yard of this home, which commands find."""
    database = {name: value for name, value in os.environ.items() if "TOOLYARD_DATABASE" in name}
    for name in ("TOOLYARD_HOME", "TOOLYARD_TOKEN"):
        monkeypatch.setenv(name, environment(home)[name])
    with running_hub({} if not database else None, home=home, env=database):
        yield


def until(holds: Callable[[], bool]) -> None:
    pause, end = Event(), time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it never did"
        pause.wait(0.01)


def is_begun(home: Path) -> bool:
    """Tell whether the first server of the document is written; a command would take too long."""
    if "TOOLYARD_DATABASE" not in os.environ:
        return any('"s0"' in path.read_text() for path in home.rglob("servers.json"))
    question = f"SELECT 1 FROM {os.environ['TOOLYARD_DATABASE_SCHEMA']}.records WHERE key = 's0'"
    with psycopg.connect(os.environ["TOOLYARD_DATABASE"]) as database:
        try:
            return database.execute(question).fetchone() is not None
        except psycopg.errors.UndefinedTable:
            return False


def interrupt(home: Path, file: Path) -> str:
    """Apply a document, and press Ctrl-C once some of it is there; the screen then."""
    with at_terminal("apply", str(file), "--yes") as person:
        person.wait_for("quirks/cursor")
        until(lambda: is_begun(home))
        person.interrupt()
        assert person.wait_end() == 130, person.screen
        return person.screen


def check_the_rest_follows(toolyard: Toolyard, file: Path) -> None:
    """See that what is there is as the document says, and that applying again does the rest."""
    before: Json = toolyard("export", "--json").json
    for section in ("servers", "profiles", "quirks"):
        assert before.get(section, {}).items() <= DOCUMENT[section].items()
    again = apply_again(toolyard, file)
    assert "made" in again.out, "all was done although it was interrupted"
    after: Json = toolyard("export", "--json").json
    assert {section: after[section] for section in DOCUMENT} == DOCUMENT
    assert "nothing to change" in toolyard("apply", str(file), "--yes").out


def apply_again(toolyard: Toolyard, file: Path) -> Done:
    """Apply a document as often as a change that was under way comes between."""
    while True:
        again = toolyard("apply", str(file), "--yes")
        if again.code != Exit.REFUSED:
            assert again.code == 0, again.err
            return again


def strays(home: Path) -> list[str]:
    """Files that only somebody who writes has, and removes."""
    return [str(path) for path in home.rglob("*") if path.suffix in {".tmp", ".part", ".new"}]


def test_ctrl_c_stops_the_changes_and_leaves_none_half_done(
    toolyard: Toolyard, home: Path, file: Path, engine: str
) -> None:
    screen = interrupt(home, file)
    assert "interrupted: apply the document again to make the changes that are left" in screen
    assert "Traceback" not in screen
    assert strays(home) == []
    check_the_rest_follows(toolyard, file)


def test_the_trail_has_every_change_that_was_made_before_ctrl_c(
    toolyard: Toolyard, home: Path, file: Path
) -> None:
    interrupt(home, file)
    written = toolyard("export", "--json").json["servers"]
    trail = AuditTrail(read_settings({}, os.environ).state_dir / DATABASE, None)
    orders = trail.search(WantedOrders(kind="server", limit=10 * COUNT))
    assert {order.key for order in orders} == set(written)


def test_a_hub_stops_for_whoever_has_hung_up(
    toolyard: Toolyard, home: Path, file: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hub_at(home, monkeypatch):
        interrupt(home, file)
        check_the_rest_follows(toolyard, file)
        assert toolyard("status").code == 0
