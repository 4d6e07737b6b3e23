"""Every order leaves who gave it, what it changed, before and after; on every engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.postgres import SharedYard
from tests.records.notes import Note, NoteCodec
from toolyard.core.errors import ConflictError
from toolyard.records import audit
from toolyard.records.audit import note_change, ordering
from toolyard.records.audit_trail import AuditTrail, WantedOrders
from toolyard.records.database import Database
from toolyard.records.follow import Follower
from toolyard.records.places import RecordPlaces
from toolyard.records.postgres.shared import SharedDatabase
from toolyard.records.protocol import Records
from toolyard.records.schema import MIGRATIONS
from toolyard.records.secrets.mask import HIDDEN

Opened = Callable[[RecordPlaces, Path, Database], Records[Any]]


def folder(places: RecordPlaces, home: Path, _database: Database) -> Records[Any]:
    return places.folder("note", home / "notes", NoteCodec())


def document(places: RecordPlaces, home: Path, _database: Database) -> Records[Any]:
    return places.document("note", home / "notes.json", NoteCodec(), top="notes")


def joint(places: RecordPlaces, _home: Path, database: Database) -> Records[Any]:
    records = places.joint(database, NoteCodec(), ("note", "other"))
    assert records is not None
    return records


@dataclass
class Kept:
    """Records of one engine, and the trail of changes to them."""

    records: Records[Any]
    trail: AuditTrail
    key: str

    def order(self, value: Any, by: str = "ci", expect: int | None = None) -> None:
        with ordering(self.trail.order(by, "10.0.0.7")):
            self.records.write(self.key, value, expect=expect)


@pytest.fixture(params=[None, "postgres"], ids=["alone", "shared"])
def shared(request: pytest.FixtureRequest) -> Iterator[SharedDatabase | None]:
    if request.param is None:
        yield None
        return
    yard: SharedYard = request.getfixturevalue("shared_yard")
    database = SharedDatabase(yard.address, yard.schema, follows=False)
    yield database
    database.close()


@pytest.fixture(params=[folder, document, joint])
def kept(
    request: pytest.FixtureRequest, home: Path, shared: SharedDatabase | None
) -> Iterator[Kept]:
    path = home / "toolyard.db"
    with ExitStack() as stack:
        database = Database(path, MIGRATIONS)
        stack.callback(database.close)
        opened: Opened = request.param
        records = opened(RecordPlaces(Follower(), shared), home, database)
        key = "note one" if opened is joint else "one"
        yield Kept(records, AuditTrail(path, shared), key)


def told(trail: AuditTrail, **wanted: Any) -> list[tuple[Any, ...]]:
    rows = trail.search(WantedOrders(**wanted))
    return [
        (row.by, row.address, row.verb, row.kind, row.key, row.before, row.after) for row in rows
    ]


def test_an_order_is_recorded_with_what_it_changed(kept: Kept) -> None:
    kept.order(Note("first"))
    kept.order(Note("second"), by="page")
    kept.order(None)

    assert told(kept.trail) == [
        ("ci", "10.0.0.7", "delete", "note", "one", {"text": "second"}, None),
        ("page", "10.0.0.7", "put", "note", "one", {"text": "first"}, {"text": "second"}),
        ("ci", "10.0.0.7", "put", "note", "one", None, {"text": "first"}),
    ]
    assert [row[0] for row in told(kept.trail, by="page")] == ["page"]
    assert told(kept.trail, kind="server") == told(kept.trail, key="two") == []
    newest = kept.trail.search(WantedOrders(limit=1))[0]
    assert len(told(kept.trail, before=newest.id)) == 2
    assert told(kept.trail, since=newest.at.timestamp() + 60) == []


def test_a_family_of_kinds_is_found_by_its_name(home: Path, shared: SharedDatabase | None) -> None:
    trail = AuditTrail(home / "toolyard.db", shared)
    for kind in ("approval git@configured", "approval web@configured", "approvals"):
        with ordering(trail.order("ci")):
            if shared is None:
                note_change(kind, "tool log", None, 1)
            else:
                with shared.order() as order:
                    order.put(kind, "tool log", "1")

    assert [row[3] for row in told(trail, kind="approval")] == [
        "approval web@configured",
        "approval git@configured",
    ]
    assert len(told(trail, kind="approval git@configured")) == 1


def test_a_hub_writes_its_trail_into_the_database_that_it_has_open(home: Path) -> None:
    with closing(Database(home / "open.db", MIGRATIONS)) as database:
        trail = AuditTrail(home / "closed.db", None, database)
        with ordering(trail.order("ci")):
            note_change("note", "one", None, 1)
        assert [row[4] for row in told(trail)] == ["one"]
    assert not (home / "closed.db").exists()


def test_an_order_that_was_refused_leaves_nothing(kept: Kept) -> None:
    with pytest.raises(ConflictError):
        kept.order(Note("late"), expect=99)

    assert told(kept.trail) == []


def test_what_a_hub_writes_by_itself_is_no_order(kept: Kept) -> None:
    kept.records.write(kept.key, Note("own"))

    assert told(kept.trail) == []


def test_secrets_are_not_in_the_trail(home: Path) -> None:
    trail = AuditTrail(home / "toolyard.db", None)
    server = {
        "command": "npx",
        "args": ["server", "--api-key", "hush-hush-1"],
        "env": {"PLAIN": "hush-hush-2", "MODE": "fast", "REF": "${keyring:x}"},
        "url": "https://me:hush-hush-3@example.com/?token=hush-hush-4",
        "headers": {"X-Thing": "hush-hush-5"},
        "password": "hush-hush-6",
    }
    with ordering(trail.order("ci")):
        note_change("server", "one", None, server)
        note_change("secret", "name", None, "keyring")
        note_change("large", "one", None, "x " * audit.LARGEST)

    large, secret, row = trail.search(WantedOrders())
    assert "hush" not in str(row.after)
    assert row.after["env"] == {"PLAIN": HIDDEN, "MODE": "fast", "REF": "${keyring:x}"}
    assert (secret.verb, secret.key, secret.before, secret.after) == ("put", "name", None, None)
    assert "not kept" in large.after


def test_old_orders_and_too_many_are_forgotten(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trail = AuditTrail(home / "toolyard.db", None)
    monkeypatch.setattr(audit, "MOST", 2)
    for number in range(4):
        with ordering(trail.order("ci")):
            note_change("note", str(number), None, 1)
    assert [row.key for row in trail.search(WantedOrders())] == ["3", "2"]

    monkeypatch.setattr(audit, "KEPT_DAYS", -1)
    with ordering(trail.order("ci")):
        note_change("note", "last", None, 1)
    assert trail.search(WantedOrders()) == []


def test_the_shared_trail_is_pruned_with_the_database(shared_yard: SharedYard, home: Path) -> None:
    database = SharedDatabase(shared_yard.address, shared_yard.schema, follows=False)
    trail = AuditTrail(home / "unused.db", database)
    with ordering(trail.order("ci")), database.order() as order:
        order.put("note", "one", "1")
    with database.transaction() as connection:
        connection.execute("UPDATE audit SET at = at - 400 * 86400")
    with ordering(trail.order("ci")), database.order() as order:
        order.put("note", "two", "2")
    database.prune()

    assert [row.key for row in trail.search(WantedOrders())] == ["two"]
    database.close()
