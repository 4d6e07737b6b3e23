"""Client quirks over the control API: what is known, who is there, and what the user sets."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.control.company import open_yard, send
from tests.doors.doors import INITIALIZE, Doors, Json, call, mirrored, modern

TOP = "/api/v1/passports"


@pytest_asyncio.fixture
async def yard(home: Path) -> AsyncIterator[Doors]:
    async with open_yard(home) as doors:
        yield doors


async def row(doors: Doors, name: str) -> Json:
    found: Json = next(r for r in (await doors.get(TOP))["passports"] if r["name"] == name)
    return found


async def test_every_client_is_there_with_where_its_quirks_come_from(yard: Doors) -> None:
    codex = await row(yard, "codex")
    assert (codex["relists"], codex["longest_name"], codex["era"]) == (False, 49, "2025-06-18")
    assert codex["overridden"] == codex["clients"] == []
    assert {"field": "era", "proof": "recorded", "text": "0.166.0 over stdio"} in codex["facts"]


async def test_a_connected_client_stands_with_its_quirks(yard: Doors) -> None:
    for name in ("codex-mcp-client", "codex-mcp-client", "somebody"):
        asked = {**INITIALIZE, "clientInfo": {"name": name, "version": "7"}}
        assert (await yard.post(call("initialize", asked))).status == 200
    message = modern("tools/list", clientInfo={"name": "opencode"})
    await yard.post(message, mirrored(message))

    (codex,) = (await row(yard, "codex"))["clients"]
    assert (codex["name"], codex["version"], codex["sessions"]) == ("codex-mcp-client", "7", 2)
    assert (codex["listed"], codex["left_out"]) == (17, 0)
    (opencode,) = (await row(yard, "opencode"))["clients"]
    assert (opencode["name"], opencode["sessions"]) == ("opencode", 0)
    strangers = (await yard.get(TOP))["strangers"]
    assert [each["name"] for each in strangers] == ["somebody"]


async def test_what_is_said_otherwise_is_seen_kept_and_taken_back(yard: Doors) -> None:
    answer = await send(yard, "PUT", f"{TOP}/codex", {"longest_name": 30, "relists": True})
    assert (answer.status, answer.json()["noticed"]) == (200, True)
    assert (await send(yard, "PUT", f"{TOP}/codex", {"most_tools": 12})).status == 200
    codex = await row(yard, "codex")
    assert (codex["longest_name"], codex["most_tools"], codex["relists"]) == (30, 12, True)
    assert codex["overridden"] == ["relists", "longest_name", "most_tools"]
    kept = json.loads((yard.home / "passports.json").read_text())
    assert kept == {"codex": {"relists": True, "longest_name": 30, "most_tools": 12}}

    message = modern("tools/list", clientInfo={"name": "codex-mcp-client"})
    tools = (await yard.post(message, mirrored(message))).json()["result"]["tools"]
    assert len(tools) == 12

    assert (await send(yard, "DELETE", f"{TOP}/codex")).status == 200
    assert (await row(yard, "codex"))["overridden"] == []
    assert (await send(yard, "DELETE", f"{TOP}/codex")).status == 404


async def test_a_client_that_nobody_knows_gets_quirks(yard: Doors) -> None:
    await send(yard, "PUT", f"{TOP}/my%20editor", {"relists": False})
    assert (await row(yard, "my editor"))["matches"] == ["my editor"]
    message = modern("server/discover", clientInfo={"name": "My Editor"})
    said = (await yard.post(message, mirrored(message))).json()["result"]["instructions"]
    assert "reads the list of tools once" in said


@pytest.mark.parametrize(
    "body", [{}, {"longest_name": 3}, {"longest_name": -1}, {"name": "x"}, {"relists": "no"}]
)
async def test_what_cannot_be_meant_is_refused(yard: Doors, body: Any) -> None:
    assert (await send(yard, "PUT", f"{TOP}/codex", body)).status == 422
    assert (await row(yard, "codex"))["overridden"] == []


async def test_a_bad_file_is_a_problem_and_changes_nothing(yard: Doors) -> None:
    await send(yard, "PUT", f"{TOP}/codex", {"longest_name": 30})
    file = yard.home / "passports.json"
    file.write_text("{")

    async def is_said() -> bool:
        return any(p["code"] == "passports-file" for p in await yard.problems())

    await yard.until(is_said)
    assert (await row(yard, "codex"))["longest_name"] == 30
    file.write_text('{"codex": {"longest_name": 2}, "cursor": {"most_tools": 50}}')

    async def is_read() -> bool:
        return bool((await row(yard, "cursor"))["most_tools"] == 50)

    await yard.until(is_read)
    assert (await row(yard, "codex"))["longest_name"] == 49
    assert len([p for p in await yard.problems() if p["code"] == "passports-file"]) == 1
