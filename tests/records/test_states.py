"""State that older versions left is read by this one, and nothing of it is lost.

The folders in `states/` were written by `scripts/keep_state.py`; one is added when what we keep
changes its shape.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from tests.control.company import send
from tests.doors.doors import Doors, open_doors
from tests.features.approvals.yard import says, tool

pytestmark = pytest.mark.slow

STATES = sorted(path for path in Path(__file__).with_name("states").iterdir())
BEFORE_QWEN = Path(__file__).with_name("states") / "6-packed-calls"
"""The newest state in which that client had another id."""
YEARS = 36500
"""Days for which calls are kept here: those in the states grow older."""
each_state = pytest.mark.parametrize("state", STATES, ids=lambda path: path.name)


@asynccontextmanager
async def opened(state: Path, home: Path, more: str = "") -> AsyncIterator[Doors]:
    """A hub of today in a home with that state, and before the server that was there."""
    with closing(sqlite3.connect(home / "state" / "toolyard.db")) as connection:
        connection.executescript((state / "toolyard.sql").read_text() + more)
    for name, folder in (("tokens.json", "state"), ("review.json", "profiles")):
        if (state / name).exists():
            (home / folder).mkdir(exist_ok=True)
            shutil.copy(state / name, home / folder)
    tools = {"look": "looks", "buy": "buys a lot", "sell": "sells"}
    server = says(home, "shop", *(tool(name, text) for name, text in tools.items()))
    async with open_doors(home, {"shop": server}, history_days=YEARS) as doors:
        await doors.settled()
        yield doors


async def get(doors: Doors, path: str) -> Any:
    answer = await send(doors, "GET", path)
    assert answer.status == 200, answer
    return answer.json()


@each_state
async def test_past_calls_can_be_read_with_all_that_was_kept_of_them(
    state: Path, home: Path
) -> None:
    async with opened(state, home) as doors:
        calls = (await get(doors, "/api/v1/history"))["calls"]
        assert [(call["id"], call["tool"], call["outcome"]) for call in calls] == [
            (3, "look", "ok"),
            (2, "buy", "tool-error"),
            (1, "look", "ok"),
        ]
        assert calls[1]["error"] == "sold out"
        assert {(call["agent"], call["server"]) for call in calls} == {("control", "shop")}
        named = state >= state.with_name("5-callers")  # nobody wrote it down before
        assert {call["caller"] for call in calls} == {"control" if named else ""}
        assert all(call["ms"] > 0 and call["at"].startswith("2026-") for call in calls)
        first = await get(doors, "/api/v1/history/1")
        assert first["arguments"] == {"what": "shelf"}
        assert first["result"]["content"][0]["text"] == "done"
        found = (await get(doors, "/api/v1/history?text=door"))["calls"]
        assert [call["id"] for call in found] == [3]
        again = await send(doors, "POST", "/api/v1/call", {"server": "shop", "tool": "look"})
        assert again.status == 200
        assert (await get(doors, "/api/v1/history"))["calls"][0]["id"] == 4


@each_state
async def test_what_was_approved_still_is_and_what_waited_still_waits(
    state: Path, home: Path
) -> None:
    async with opened(state, home) as doors:
        assert (await doors.server("shop"))["held"] == ["buy"]
        assert await doors.tools() == {"shop__look", "shop__sell"}
        seen = await get(doors, "/api/v1/servers/shop/changes")
        assert seen["new"] == ["sell"]
        (buy,) = (change for change in seen["changes"] if change["name"] == "buy")
        assert buy["fields"][0]["lines"] == ["- buys", "+ buys a lot"]


@pytest.mark.parametrize("state", STATES[1:], ids=lambda path: path.name)
async def test_agents_policies_tokens_and_profiles_are_as_they_were(
    state: Path, home: Path
) -> None:
    async with opened(state, home) as doors:
        config = await get(doors, "/api/mcp-config?agent=codex")
        assert config["enabled"] and config["meta"] == {"docs": {"description": "The docs"}}
        assert config["servers"] == {
            "docs": {"type": "http", "url": "http://a/mcp", "mode": "auto"},
            "shop": {"server": "shop", "mode": "per_session"},
        }
        policy = await get(doors, "/api/v1/policies/docker")
        assert policy["policy"]["deny"] == ["docs"]
        (token,) = (await get(doors, "/api/v1/tokens"))["tokens"]
        assert (token["name"], token["servers"]) == ("ci", ["shop"])
        profile = await get(doors, "/api/v1/profiles/review")
        assert profile["hide"] == ["shop/buy"]
        codes = {problem["code"] for problem in await doors.problems()}
        assert codes <= {"pin-changed", "server-link"}  # nobody is at the address of 'docs'


async def test_the_list_of_qwen_is_found_under_the_id_of_its_client(home: Path) -> None:
    rows = """
    INSERT INTO roster VALUES ('config', 'qwen-code', '{"enabled": true, "servers": {}}', 900);
    INSERT INTO roster VALUES ('override', 'qwen-code docker', '{"enabled": false}', 901);
    """
    async with opened(BEFORE_QWEN, home, rows) as doors:
        assert (await get(doors, "/api/mcp-config?agent=qwen"))["enabled"]
        agents = (await get(doors, "/api/v1/agents"))["agents"]
        (qwen,) = (agent for agent in agents if agent["id"].startswith("qwen"))
        assert (qwen["id"], qwen["configured"], qwen["overrides"]) == ("qwen", True, ["docker"])
