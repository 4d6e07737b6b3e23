"""The list of announced servers, for programs here and on other machines."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.control.company import make_token, send
from tests.doors.doors import Answer, Doors, open_doors
from toolyard.announce import Announcements, describe, user_path

PATH = "/api/v1/announced"


@pytest_asyncio.fixture
async def yard(home: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Doors]:
    monkeypatch.setenv("TOOLYARD_HOME", str(home))
    async with open_doors(home) as doors:
        yield doors


async def listed(yard: Doors, name: str, *, offered: bool) -> dict[str, Any]:
    """The row of a server, once the picture shows it or says why it does not."""

    async def look() -> Any:
        answer = (await send(yard, "GET", PATH)).json()
        settled = offered or any(name in problem["text"] for problem in answer["problems"])
        rows = [row for row in answer["servers"] if row["name"] == name and settled]
        return next((row for row in rows if (row["status"] != "waits") == offered), None)

    found: dict[str, Any] = await yard.until(look)
    return found


async def test_all_that_a_server_says_of_itself_can_be_discovered(yard: Doors) -> None:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
        ways = [{"type": "websocket", "url": f"ws://127.0.0.1:{port}/ws"}]
        url = f"http://127.0.0.1:{port}/mcp"
        entry = describe("adder", url, transports=ways, tools=["add", "sub"], version="1.2")
        beat = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        Announcements(user_path()).register_server("adder_1", {**entry, "heartbeat": beat})
        row = await listed(yard, "adder", offered=True)
    assert (row["url"], row["port"], row["pid"]) == (url, port, entry["pid"])
    assert row["transports"] == [{"type": "http", "url": url}, *ways]
    assert (row["version"], row["started_at"]) == ("1.2", entry["started_at"])
    assert (row["heartbeat"], row["project"]) == (beat, "")
    assert row["capabilities"] == {"tools": {"count": 2, "names": ["add", "sub"]}}
    assert 0 <= row["uptime_s"] < 60


async def test_one_that_is_not_offered_is_listed_with_the_reason(yard: Doors) -> None:
    elsewhere = {"name": "far", "pid": 7, "host": "another-host", "started_at": "soon", "http": 3}
    Announcements(user_path()).register_server("far_7", elsewhere)
    row = await listed(yard, "far", offered=False)
    assert (row["status"], row["url"], row["port"], row["uptime_s"]) == ("waits", "", None, None)
    problems = (await send(yard, "GET", PATH)).json()["problems"]
    assert "another-host" in problems[0]["text"]


async def test_a_token_that_discovers_opens_the_list_and_nothing_else(yard: Doors) -> None:
    token = await make_token(yard, "scout", discovers=True)

    async def ask(method: str, path: str) -> Answer:
        return await yard.ask(method, path, headers={"Authorization": f"Bearer {token}"})

    assert (await ask("GET", PATH)).status == 200
    assert (await ask("POST", PATH)).status == 405
    for method, path in (("GET", "/api/v1/status"), ("POST", "/mcp"), ("GET", "/mcp/s/one")):
        answer = await ask(method, path)
        assert answer.status == 403
        assert b"opens /api/v1/announced alone" in answer.body
    rows = (await send(yard, "GET", "/api/v1/tokens")).json()["tokens"]
    assert [(row["name"], row["discovers"]) for row in rows] == [("scout", True)]
