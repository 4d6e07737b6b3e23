from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.following import following
from tests.fixtures.reports import Reports
from toolyard.core.model import Command, Url
from toolyard.features.catalog.model import Verification
from toolyard.features.catalog.source import Added
from toolyard.features.catalog.store import Catalog

SEEN = Verification("2026-11-15T10:00:00Z", "2025-11-25", "legacy", "thing", "1.2.3")


def text(name: str, **fields: Any) -> bytes:
    return json.dumps({"name": name, "runtime": {"command": "a"}} | fields).encode()


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    (shipped / "one.json").write_bytes(text("one", title="One"))
    return Catalog(tmp_path / "catalog", shipped)


@asynccontextmanager
async def running(catalog: Catalog, env: dict[str, str] | None = None) -> AsyncIterator[Reports]:
    reports = Reports()
    async with following() as follower, asyncio.TaskGroup() as group:
        task = group.create_task(Added(catalog, env or {}, follower).run(reports.post))
        try:
            yield reports
        finally:
            task.cancel()


async def test_a_definition_is_an_offer_until_it_is_added(catalog: Catalog) -> None:
    catalog.copy_bundled()
    async with running(catalog) as reports:
        await reports.names()
        # As another process would.
        other = Catalog(catalog.root, catalog.root)
        await asyncio.to_thread(other.add, "one")
        report = await reports.names("one")
        await asyncio.to_thread(other.set_enabled, "one", False)
        await reports.until(lambda r: not r.servers[0].enabled)
        await asyncio.to_thread(other.drop, "one")
        await reports.names()

    (server,) = report.servers
    assert (str(server.id), server.title, server.problem) == ("one@catalog", "One", None)
    assert server.offers is None


async def test_tools_on_file_are_carried_along_and_new_ones_seen_at_once(catalog: Catalog) -> None:
    catalog.put(text("thing", tools=[{"name": "t"}]))
    catalog.add("thing")
    async with running(catalog) as reports:
        first = await reports.names("thing")
        other = Catalog(catalog.root, catalog.root)
        await asyncio.to_thread(other.record, "thing", SEEN, [b'{"name":"u"}'])
        second = await reports.until(lambda r: r != first, within=60.0)

    assert first.servers[0].offers is not None
    assert [each.key for each in first.servers[0].offers.tools] == ["t"]
    assert second.servers[0].offers is not None
    assert [each.raw for each in second.servers[0].offers.tools] == [b'{"name":"u"}']
    assert second.servers[0].peer is not None
    assert second.servers[0].peer.version == "2025-11-25"


async def test_a_change_is_seen_without_reading_the_other_files(catalog: Catalog) -> None:
    folder = catalog.root / "custom"
    folder.mkdir(parents=True)
    for index in range(50):
        (folder / f"s{index}.json").write_bytes(text(f"s{index}"))
    catalog.add("s7")
    async with running(catalog) as reports:
        await reports.names("s7")
        before = catalog.load().definitions
        (folder / "s7.json").write_bytes(text("s7", title="New"))
        await reports.until(lambda r: r.servers[0].title == "New", within=60.0)

    after = catalog.load().definitions
    kept = [name for name in before if after[name].definition is before[name].definition]
    assert sorted(kept) == sorted(name for name in before if name != "s7")


async def test_a_folder_that_is_made_later_is_watched(catalog: Catalog) -> None:
    async with running(catalog) as reports:
        await reports.names()
        other = Catalog(catalog.root, catalog.root)
        await asyncio.to_thread(other.put, text("late"))
        await asyncio.to_thread(other.add, "late")
        await reports.names("late")
        await asyncio.to_thread(other.put, text("late", title="Later"))
        await reports.until(lambda r: r.servers[0].title == "Later")


async def test_a_broken_file_is_a_problem_and_the_others_stand(catalog: Catalog) -> None:
    catalog.put(text("thing"))
    catalog.add("thing")
    async with running(catalog) as reports:
        await reports.names("thing")
        (catalog.root / "custom" / "bad.json").write_text("{ oops")
        report = await reports.until(lambda r: bool(r.problems))

    assert [each.id.name for each in report.servers] == ["thing"]
    assert [each.code for each in report.problems] == ["catalog-syntax"]


NEEDY = {
    "authorization": {
        "type": "api_key",
        "url": "https://example.com/key",
        "variables": [{"name": "KEY", "required": True, "secret": True}, {"name": "MORE"}],
    },
    "runtime": {"command": "a", "args": ["--at", "${PLACE}", "$${KEY}", "${LEVEL:-1}"]},
}


async def test_what_is_missing_is_named_with_where_to_get_it(catalog: Catalog) -> None:
    catalog.put(text("needy", **NEEDY))
    catalog.add("needy")
    async with running(catalog) as reports:
        report = await reports.names("needy")

    problem = report.servers[0].problem
    assert problem is not None
    assert problem.code == "catalog-unset"
    assert "PLACE" in problem.text and "KEY" in problem.text
    assert "https://example.com/key" in problem.hint
    assert "toolyard catalog add needy" in problem.hint


async def test_values_take_the_place_of_references(catalog: Catalog) -> None:
    catalog.put(text("needy", **NEEDY))
    catalog.add("needy", {"KEY": "${keyring:k}", "PLACE": "here", "LEVEL": "2"})
    async with running(catalog, {"MORE": "x"}) as reports:
        report = await reports.names("needy")

    (server,) = report.servers
    assert server.problem is None
    assert isinstance(server.endpoint, Command)
    assert server.endpoint.argv == ("a", "--at", "here", "$${KEY}", "2")
    env = dict(server.endpoint.env)
    assert (env["KEY"], env["MORE"]) == ("${keyring:k}", "${MORE}")


async def test_values_reach_the_headers_of_an_address(catalog: Catalog) -> None:
    runtime = {"url": "https://${HOST}/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}
    catalog.put(text("remote", runtime=runtime))
    catalog.add("remote", {"TOKEN": "t", "HOST": "example.com"})
    async with running(catalog) as reports:
        report = await reports.names("remote")

    expected = Url("https://example.com/mcp", "http", (("Authorization", "Bearer t"),))
    assert report.servers[0].endpoint == expected
