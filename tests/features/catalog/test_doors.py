from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import pytest_asyncio

from tests.doors.doors import Answer, Doors, open_doors
from tests.features.catalog.registry import Shop, shop
from toolyard.features.catalog.bundled_catalog import BUNDLED
from toolyard.features.catalog.publisher import Publisher, PublisherError
from toolyard.features.catalog.reading import read_definition
from toolyard.features.catalog.store import Catalog

pytestmark = pytest.mark.slow

EXAMPLE = {
    "name": "mine",
    "title": "Mine",
    "runtime": {"command": sys.executable, "args": ["-m", "toolyard.example"]},
}


@pytest_asyncio.fixture
async def doors(home: Path) -> AsyncIterator[Doors]:
    async with open_doors(home) as opened:
        every = {file.stem for file in BUNDLED.glob("*.json")}

        async def is_complete() -> bool:
            return every <= set(await _names(opened))

        await opened.until(is_complete)
        yield opened


async def _names(doors: Doors) -> list[str]:
    return [each["name"] for each in (await doors.get("/api/v1/catalog"))["definitions"]]


async def send(doors: Doors, method: str, path: str, body: Any = None) -> Answer:
    return await doors.ask(method, path, b"" if body is None else json.dumps(body).encode())


async def test_definitions_are_listed_searched_and_shown(doors: Doors) -> None:
    whole = await doors.get("/api/v1/catalog")
    some = await doors.get("/api/v1/catalog?search=browser&category=development")
    one = await doors.get("/api/v1/catalog/github")

    assert whole["total"] >= 20
    assert whole["problems"] == []
    assert "playwright" in [each["name"] for each in some["definitions"]]
    assert one["definition"]["runtime"]["url"] == "https://api.githubcopilot.com/mcp/"
    assert (await doors.ask("GET", "/api/v1/catalog/nobody")).status == 404
    assert (await doors.get("/api/v1/catalog?added=true"))["definitions"] == []


async def test_a_definition_becomes_a_server_by_way_of_the_files(doors: Doors) -> None:
    put = await send(doors, "PUT", "/api/v1/catalog/mine", EXAMPLE)
    assert put.status == 200
    assert (await send(doors, "POST", "/api/v1/catalog/mine/add", {})).status == 200

    async def is_there() -> set[str]:
        return {each for each in await doors.tools() if each.startswith("mine__")}

    assert await doors.until(is_there)
    assert (await doors.server("mine"))["source"] == "catalog"

    assert (await send(doors, "POST", "/api/v1/catalog/mine/drop")).status == 200

    async def is_gone() -> bool:
        return not await is_there()

    assert await doors.until(is_gone)
    assert (await send(doors, "DELETE", "/api/v1/catalog/mine")).status == 200
    assert (await send(doors, "DELETE", "/api/v1/catalog/mine")).status == 404


async def test_a_name_that_another_server_has_is_told_before_and_after(doors: Doors) -> None:
    await send(doors, "PUT", "/api/v1/catalog/nobody", {**EXAMPLE, "name": "nobody"})
    assert (await doors.get("/api/v1/catalog/nobody"))["alias"] == "nobody-catalog"
    assert (await doors.get("/api/v1/catalog/github"))["alias"] == "github"

    added = await send(doors, "POST", "/api/v1/catalog/nobody/add", {})

    assert added.json() == {"alias": "nobody-catalog", "done": True}

    async def is_there() -> set[str]:
        return {each for each in await doors.tools() if each.startswith("nobody-catalog__")}

    assert await doors.until(is_there)
    assert (await doors.get("/api/v1/catalog/nobody"))["alias"] == "nobody-catalog"


async def test_a_server_keeps_its_name_when_another_is_added_by_that_name(home: Path) -> None:
    mine = {"command": sys.executable, "args": ["-m", "toolyard.example"]}
    own, other = "mine__convert_units", "mine-configured__convert_units"

    async with open_doors(home) as doors:
        await send(doors, "PUT", "/api/v1/catalog/mine", EXAMPLE)
        await send(doors, "POST", "/api/v1/catalog/mine/add", {})
        added = await send(doors, "POST", "/api/v1/servers", {"name": "mine", "entry": mine})
        assert added.json()["alias"] == "mine-configured"
        assert await doors.until(lambda: _has_tools(doors, own, other))

    async with open_doors(home, {"mine": mine}) as doors:
        assert await doors.until(lambda: _has_tools(doors, own, other))
        servers = (await doors.get("/api/v1/servers"))["servers"]
        assert {server["source"]: server["alias"] for server in servers} == {
            "catalog": "mine",
            "configured": "mine-configured",
        }


async def _has_tools(doors: Doors, *names: str) -> bool:
    return {*names} <= await doors.tools()


async def test_what_an_added_server_still_needs_is_in_the_answer(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BRAVE_API_KEY", raising=False)
    path = "/api/v1/catalog/brave-search/add"

    lacking = (await send(doors, "POST", path, {})).json()["problem"]
    filled = await send(doors, "POST", path, {"values": {"BRAVE_API_KEY": "k"}})

    assert (lacking["code"], "BRAVE_API_KEY" in lacking["text"]) == ("catalog-unset", True)
    assert filled.json() == {"alias": "brave-search", "done": True}


async def test_tools_on_file_are_listed_without_a_process(home: Path) -> None:
    catalog = Catalog(home / "data" / "catalog")
    tools = [{"name": "t", "inputSchema": {"type": "object"}}]
    mark = home / "started"
    runtime = {"command": "touch", "args": [str(mark)]}
    catalog.put(json.dumps({"name": "cold", "runtime": runtime, "tools": tools}).encode())
    catalog.add("cold")

    async with open_doors(home) as doors:

        async def is_listed() -> bool:
            return "cold__t" in await doors.tools()

        assert await doors.until(is_listed)
        assert not mark.exists()


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        ("mine", {"name": "other", "runtime": {"command": "a"}}, 422),
        ("mine", {"name": "mine"}, 422),
        ("mine", [], 422),
        ("..%2Fx", {"name": "../x", "runtime": {"command": "a"}}, 404),
    ],
)
async def test_what_cannot_be_used_is_not_written(
    doors: Doors, name: str, body: Any, status: int
) -> None:
    before = await _names(doors)

    answer = await send(doors, "PUT", f"/api/v1/catalog/{name}", body)

    assert answer.status in (status, 405)
    assert await _names(doors) == before


async def test_the_catalog_is_published_page_by_page(doors: Doors) -> None:
    first = await doors.get("/v0.1/servers?limit=5")
    cursor = quote(first["metadata"]["nextCursor"], safe="")
    second = await doors.get(f"/v0.1/servers?limit=100&cursor={cursor}")

    found = [each["server"]["name"] for each in (*first["servers"], *second["servers"])]
    assert len(found) == len(set(found)) == len(await _names(doors))
    for each in first["servers"]:
        assert read_definition(json.dumps(each["server"]).encode()).name
    name = quote("local.toolyard/time", safe="")
    versions = await doors.get(f"/v0.1/servers/{name}/versions")
    latest = await doors.get(f"/v0.1/servers/{name}/versions/latest")
    assert versions["servers"] == [latest]
    assert latest["server"]["packages"][0]["identifier"] == "mcp-server-time"
    assert (await doors.ask("GET", f"/v0.1/servers/{name}/versions/9.9")).status == 404
    assert (await doors.ask("GET", "/v0.1/servers/a%2Fb/versions")).status == 404
    assert (await doors.get("/v0.1/servers?search=playwright"))["metadata"]["count"] == 1
    since = "/v0.1/servers?updated_since="
    assert (await doors.get(f"{since}2100-01-01T00:00:00Z"))["servers"] == []
    assert (await doors.ask("GET", f"{since}yesterday")).status == 422
    assert (await doors.ask("GET", "/v0.1/servers?limit=0")).status == 422


async def test_a_published_server_is_imported_through_the_door(doors: Doors) -> None:
    with shop(Shop()) as base:
        asked = f"/api/v1/published?registry={quote(base, safe='')}&search=weather"
        found = await doors.get(asked)
        wanted = {"name": "io.example/weather", "registry": base}
        imported = await send(doors, "POST", "/api/v1/catalog/import", wanted)
        missing = await send(doors, "POST", "/api/v1/catalog/import", wanted | {"name": "a/b"})
    evil = {"name": "a/b", "registry": "http://example.com"}

    assert len(found["servers"]) == 1
    assert (imported.status, imported.json()["name"]) == (200, "weather")
    assert missing.status == 404
    assert (await send(doors, "POST", "/api/v1/catalog/import", evil)).status == 422


async def test_no_part_of_the_catalog_answers_without_the_token(doors: Doors) -> None:
    for path in ("/api/v1/catalog", "/api/v1/catalog/time", "/v0.1/servers"):
        answer = await doors.ask("GET", path, leave_out=("Authorization",))
        assert answer.status == 401


async def test_every_operation_is_described_for_others(doors: Doors) -> None:
    paths = (await doors.get("/api/v1/openapi.json"))["paths"]

    assert "/v0.1/servers/{name}/versions/{version}" in paths
    assert all(":" not in path for path in paths)


async def test_our_own_client_reads_what_we_publish(doors: Doors) -> None:
    # Behind the token nobody but us may read, so the client is refused and says so.
    with pytest.raises(PublisherError, match="status 401"):
        await asyncio.to_thread(Publisher(f"http://127.0.0.1:{doors.port}").search, "time")
