"""Whether sessions can share a process: tried for real, kept, and used where nobody decided."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.doors.doors import Answer, Json
from tests.instances.yard import AGENT, Company, company

NOTES = Path(__file__).parents[2] / "instances" / "notes.py"
ADD = {"add": {"text": "a trial"}}


def notes(kind: str) -> Json:
    return {"command": sys.executable, "args": [str(NOTES), kind]}


async def tried(yard: Company, server: str, calls: Any = None) -> Answer:
    body = json.dumps({"calls": calls or {}}).encode()
    return await yard.doors.ask("POST", f"/api/v1/servers/{server}/shareable", body)


@pytest.mark.parametrize(
    ("kind", "calls", "verdict", "reason"),
    [
        ("plain", {}, "shareable", "1 questions were answered alike"),
        ("own", {}, "unknown", "were not called: add"),
        ("own", ADD, "shareable", "answered alike"),
        ("kept", ADD, "not", "tool all shows what the other session did"),
        ("counted", {}, "not", "tool all shows what the other session did"),
        ("vague", ADD, "unknown", "answers alike"),
    ],
)
async def test_what_a_server_does_decides_whether_it_can_be_shared(
    home: Path, kind: str, calls: Json, verdict: str, reason: str
) -> None:
    async with company(home, {}, servers={"notes": notes(kind)}) as yard:
        said = (await tried(yard, "notes", calls)).json()
        assert said["verdict"] == verdict, said
        assert reason in said["reasons"][0]
        assert (said["version"], said["greeted_again"]) == ("1.2", "answered")
        kept = await yard.doors.get("/api/v1/servers/notes/shareable")
        assert kept == said


async def test_auto_shares_what_was_found_shareable_until_it_is_started_otherwise(
    home: Path,
) -> None:
    listed = {"notes": {**notes("plain"), "mode": "auto"}}
    async with company(home, {AGENT: listed}) as yard:
        async with yard.client() as talk:
            await talk.call("notes__all")
        assert [row["client"] for row in await yard.rows()] == ["talk"]
        assert (await tried(yard, "notes@agents")).json()["verdict"] == "shareable"
        async with yard.client(name="later") as talk:
            await talk.call("notes__all")
            assert "later" not in [row["client"] for row in await yard.rows()]
        other = {**notes("plain"), "env": {"SIZE": "2"}, "mode": "auto"}
        said = json.dumps({"enabled": True, "servers": {"notes": other}}).encode()
        answer = await yard.doors.ask("POST", f"/api/mcp-config?agent={AGENT}", said)
        assert answer.status == 200
        async with yard.client(name="last") as talk:
            await yard.doors.settled()
            await talk.call("notes__all")
            assert "last" in [row["client"] for row in await yard.rows()]


async def test_a_tool_it_does_not_have_cannot_be_tried(home: Path) -> None:
    async with company(home, {}, servers={"notes": notes("own")}) as yard:
        answer = await tried(yard, "notes", {"ad": {}})
        assert answer.status == 422 and "there are: add" in answer.json()["hint"]
        assert (await tried(yard, "nobody")).status == 404
        never = await yard.doors.ask("GET", "/api/v1/servers/notes/shareable")
        assert never.status == 404 and "toolyard server probe notes" in never.json()["hint"]
