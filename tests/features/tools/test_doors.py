"""A real hub finds tools by their names."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.control.company import entry, send
from tests.doors.doors import Doors, Json, open_doors
from tests.e2e.hub import scripted

TOOLS = "/api/v1/tools"
FLAGS = ("--only", "echo,fail", "--tools-only")


@pytest_asyncio.fixture
async def yard(home: Path) -> AsyncIterator[Doors]:
    servers = {"one": entry("one", *FLAGS), "two": entry("two", "--only", "echo", "--tools-only")}
    async with open_doors(home, servers) as doors:
        await doors.settled()
        yield doors


async def names(yard: Doors, query: str) -> list[str]:
    page = await yard.get(f"{TOOLS}?{query}")
    assert page["total"] == len(page["tools"])
    return [tool["name"] for tool in page["tools"]]


async def test_a_full_name_is_one_tool(yard: Doors) -> None:
    assert await names(yard, "name=one__echo") == ["one__echo"]


async def test_a_tools_own_name_is_every_tool_of_that_name(yard: Doors) -> None:
    assert await names(yard, "name=fail") == ["one__fail"]
    assert sorted(await names(yard, "name=echo")) == ["one__echo", "two__echo"]
    assert await names(yard, "name=echo&server=two") == ["two__echo"]
    assert await names(yard, "name=ech") == []


async def test_a_tool_that_waits_for_approval_says_so(home: Path) -> None:
    async with open_doors(home, {"shop": offering(home, "look", "buy")}) as doors:
        await doors.settled()
        offering(home, "look", "buy", description="does it!")
        await send(doors, "POST", "/api/v1/servers/shop/restart", {})
        await doors.until(lambda: is_held(doors))
        for query in ("name=shop__buy", "name=buy&server=shop"):
            answer = await send(doors, "GET", f"{TOOLS}?{query}")
            assert (answer.status, "waits for approval" in answer.json()["detail"]) == (409, True)


def offering(home: Path, *names: str, description: str = "does it") -> Json:
    """The entry of a server with tools of these names; all but the first are described so."""
    texts = ["does it", *[description] * (len(names) - 1)]
    tools = [
        {"name": name, "description": text, "inputSchema": {"type": "object"}}
        for name, text in zip(names, texts, strict=True)
    ]
    return scripted(home, "shop", {"tools/list": json.dumps({"tools": tools})}, tools={})


async def is_held(doors: Doors) -> bool:
    """Return whether the server's second tool waits."""
    return (await doors.server("shop"))["held"] == ["buy"]


async def test_names_are_completed(yard: Doors) -> None:
    async def complete(query: str) -> list[str]:
        completed: list[str] = (await yard.get(f"{TOOLS}/names?{query}"))["names"]
        return sorted(completed)

    assert await complete("begin=one__") == ["one__echo", "one__fail"]
    assert await complete("begin=e&server=two") == ["echo"]
    assert len(await complete("")) == 3
    assert (await send(yard, "GET", f"{TOOLS}/names?server=three")).status == 404
