"""What the user says of a tool counts, whatever its server says of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.control.company import Agent, make_token, send
from tests.doors.doors import Doors, open_doors
from tests.features.tokens.test_doors import hinted_server

MARKS = "/api/v1/marks"


async def mark(doors: Doors, tool: str, tier: str | None) -> None:
    """Mark a tool, and see it noticed."""
    answer = await send(doors, "POST", MARKS, {"server": "h", "tool": tool, "tier": tier})
    assert answer.status == 200 and answer.json()["noticed"], answer


async def test_a_mark_counts_more_than_what_the_server_says(home: Path) -> None:
    async with open_doors(home, {"h": hinted_server(home)}) as doors:
        await doors.settled()
        agent = Agent(doors, token=await make_token(doors, "agent", tier="read"))
        assert await agent.tools() == ["h__look"]
        await mark(doors, "look", "destroy")
        await mark(doors, "wipe", "read")
        assert await agent.tools() == ["h__wipe"]
        assert "unknown tool" in (await agent.call("h__look"))["error"]["message"]
        (first, second) = (await doors.get(MARKS))["marks"]
        assert (first["tool"], first["tier"]) == ("look", "destroy")
        assert (second["server"], second["tool"]) == ("h@configured", "wipe")
        await mark(doors, "look", None)
        await mark(doors, "wipe", None)
        assert await agent.tools() == ["h__look"]
        unknown = await send(doors, "POST", MARKS, {"server": "h", "tool": "lok", "tier": "read"})
        assert unknown.status == 404 and "look" in unknown.json()["hint"]


@pytest.mark.parametrize(
    "text", ["{", json.dumps({"h@configured": {"wipe": "harmless"}})], ids=["file", "record"]
)
async def test_marks_that_cannot_be_read_open_nothing(home: Path, text: str) -> None:
    (home / "marks.json").write_text(text)
    async with open_doors(home, {"h": hinted_server(home)}) as doors:
        await doors.settled()
        agent = Agent(doors, token=await make_token(doors, "agent", tier="write"))
        assert await agent.tools() == []
        assert "marks-file" in [problem["code"] for problem in await doors.problems()]
        assert len(await Agent(doors, token=await make_token(doors, "all")).tools()) == 4
        (home / "marks.json").write_text("{}")

        async def is_shown() -> bool:
            return await agent.tools() == ["h__look", "h__put"]

        assert await doors.until(is_shown)


async def test_marks_are_in_the_document_of_the_yard(home: Path) -> None:
    async with open_doors(home, {"h": hinted_server(home)}) as doors:
        await doors.settled()
        await mark(doors, "wipe", "write")
        document = (await doors.get("/api/v1/export"))["document"]
        assert document["marks"] == {"h@configured": {"wipe": "write"}}
        order = {"version": 1, "marks": {"h@configured": {"wipe": "read", "put": "read"}}}
        assert (await send(doors, "POST", "/api/v1/apply", order)).status == 200
        agent = Agent(doors, token=await make_token(doors, "agent", tier="read"))

        async def is_shown() -> bool:
            return await agent.tools() == ["h__look", "h__put", "h__wipe"]

        assert await doors.until(is_shown)
        empty = {"version": 1, "marks": {}}
        assert (await send(doors, "POST", "/api/v1/apply?prune=true", empty)).status == 200
        assert (await doors.get(MARKS))["marks"] == []
