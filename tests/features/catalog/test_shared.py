"""Custom definitions are kept alike in a folder and in a database that hubs share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fixtures.hubs import names, order, sees, send, stub, two_hubs
from tests.fixtures.postgres import OpenShared, PostgresServer, SharedYard
from toolyard.core.errors import DatabaseAwayError, UnknownNameError
from toolyard.features.catalog.model import DefinitionError, Verification
from toolyard.features.catalog.store import Catalog
from toolyard.records.follow import Follower
from toolyard.records.places import RecordPlaces

TEXT = json.dumps({"name": "mine", "runtime": {"command": "mine", "args": ["ü"]}}).encode()

Opened = Callable[[], Catalog]


@pytest.fixture
def shared(open_shared: OpenShared, tmp_path: Path) -> Opened:
    """Opens the catalog of one more machine that shares a database."""

    def opened() -> Catalog:
        places = RecordPlaces(Follower(), open_shared(False))
        root = tmp_path / f"machine{len(list(tmp_path.iterdir()))}"
        root.mkdir()
        return Catalog(root, tmp_path / "none", places=places)

    return opened


@pytest.fixture(params=["folder", "database"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    """Opens the same catalog again and again, as several programs would."""
    if request.param == "folder":
        return lambda: Catalog(tmp_path / "catalog", tmp_path / "none")
    opened: Opened = request.getfixturevalue("shared")
    return opened


def test_a_definition_is_written_read_verified_and_removed(opened: Opened) -> None:
    one, other = opened(), opened()
    one.put(TEXT)
    assert other.load().definitions["mine"].folder == "custom"
    assert other.text("mine") == one.text("mine")
    with pytest.raises(DefinitionError, match="already"):
        other.put(TEXT, replace=False)
    seen = Verification("2026-11-17T00:00:00+00:00", "2026-07-28", "modern", "m", "1", 1, 1)
    other.record("mine", seen, [b'{"name":"t","inputSchema":{"type":"object"}}'])
    assert one.load().definitions["mine"].definition.verification is not None
    assert one.text("mine") == other.text("mine")
    other.remove("mine")
    assert "mine" not in one.load().definitions
    with pytest.raises(UnknownNameError):
        one.remove("mine")


@pytest.mark.slow
def test_while_the_database_is_away_definitions_are_read_and_not_written(
    postgres: PostgresServer, shared: Opened
) -> None:
    catalog = shared()
    catalog.put(TEXT)
    postgres.stop()
    try:
        assert "mine" in catalog.load().definitions
        with pytest.raises(DatabaseAwayError):
            catalog.remove("mine")
        assert "mine" in catalog.load().definitions
    finally:
        postgres.start()


async def test_a_definition_of_one_hub_is_a_server_of_both(
    home: Path, shared_yard: SharedYard
) -> None:
    entry = stub("mine")
    definition = {"name": "mine", "runtime": {"command": entry["command"], "args": entry["args"]}}
    async with two_hubs(home, shared_yard) as (a, b):
        await order(a, "PUT", "/catalog/mine", definition)
        await order(a, "POST", "/catalog/mine/add", {})
        for hub in (a, b):
            await sees(hub, "/servers", lambda answer: "mine" in names("servers")(answer))

            async def has_tool(hub=hub) -> bool:  # type: ignore[no-untyped-def]
                return "mine__echo" in await hub.tools()

            await hub.until(has_tool, 60)
        assert not (await send(b, "GET", "/status")).json()["problems"]
        await order(b, "POST", "/catalog/mine/drop")
        await order(b, "DELETE", "/catalog/mine")
        await sees(a, "/catalog", lambda answer: "mine" not in names("definitions")(answer))
