"""Any tool can be called by its server and name, with the call tool of its risk and no other."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.control.company import Agent, make_token, send
from tests.doors.doors import Doors, Json, open_doors
from tests.e2e import scripted

HINTS: dict[str, Json] = {
    "look": {"readOnlyHint": True},
    "put": {"destructiveHint": False},
    "wipe": {"destructiveHint": True},
    "mute": {},
}
CALL_TOOLS = ["toolyard_read", "toolyard_write", "toolyard_destroy"]
OWNERS = dict(zip(HINTS, [*CALL_TOOLS, "toolyard_destroy"], strict=True))


def server(home: Path) -> Json:
    """A server with a tool of each risk, and one that says nothing of it."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    tools = [{"name": n, "inputSchema": schema, "annotations": a} for n, a in HINTS.items()]
    done = {"content": [{"type": "text", "text": "done"}]}
    replies = {f"tools/call {name}": json.dumps(done) for name in HINTS}
    replies["tools/list"] = json.dumps({"tools": tools})
    path = home / "risky.json"
    path.write_text(json.dumps({"capabilities": {"tools": {}}, "replies": replies}))
    return {"command": sys.executable, "args": [scripted.__file__, str(path)]}


@pytest_asyncio.fixture
async def yard(home: Path) -> AsyncIterator[Doors]:
    async with open_doors(home, {"h": server(home)}, expose="search") as doors:
        await doors.settled()
        yield doors


async def own(agent: Agent) -> dict[str, Json]:
    """The call tools that a client is offered."""
    listed = (await agent.ask("tools/list"))["result"]["tools"]
    assert all(tool["name"].startswith("toolyard_") for tool in listed)
    return {tool["name"]: tool for tool in listed if tool["name"] in CALL_TOOLS}


async def run(agent: Agent, call_tool: str, tool: str, **arguments: object) -> Json:
    """Call a tool with one of the call tools; the result."""
    said = await agent.call(call_tool, server="h", tool=tool, arguments=arguments)
    result: Json = said["result"]
    return result


async def test_each_call_tool_says_its_risk_and_refuses_what_is_not_its_own(yard: Doors) -> None:
    agent = Agent(yard)
    offered = await own(agent)
    assert {name: tool["annotations"] for name, tool in offered.items()} == {
        "toolyard_read": {"readOnlyHint": True, "openWorldHint": True},
        "toolyard_write": {
            "readOnlyHint": False,
            "destructiveHint": False,
            "openWorldHint": True,
        },
        "toolyard_destroy": {
            "readOnlyHint": False,
            "destructiveHint": True,
            "openWorldHint": True,
        },
    }
    assert {row["tool"]: row["callTool"] for row in await agent.found()} == OWNERS
    for tool, owner in OWNERS.items():
        for call_tool in CALL_TOOLS:
            result = await run(agent, call_tool, tool)
            text = result["content"][0]["text"]
            if call_tool == owner:
                assert not result.get("isError") and text == "done"
            else:
                assert result["isError"], (call_tool, tool)
                assert text.startswith(f"{call_tool} does not call h's {tool}, which ")
                assert f"call it with {owner}, " in text
    assert "isError" not in await run(agent, "toolyard_read", "look", n=1)
    unfit = await run(agent, "toolyard_read", "look", n="one")
    assert "the arguments do not fit h's look" in unfit["content"][0]["text"]


async def test_there_is_no_call_tool_for_everything(yard: Doors) -> None:
    said = await Agent(yard).call("toolyard_call", server="h", tool="look", arguments={})
    assert "unknown tool" in said["error"]["message"]


async def test_the_users_mark_says_which_call_tool_it_is(yard: Doors) -> None:
    agent = Agent(yard)
    order = {"server": "h", "tool": "mute", "tier": "read"}
    answer = await send(yard, "POST", "/api/v1/marks", order)
    assert answer.status == 200 and answer.json()["noticed"]
    rows = {row["tool"]: row["callTool"] for row in await agent.found()}
    assert rows["mute"] == "toolyard_read"
    assert not (await run(agent, "toolyard_read", "mute")).get("isError")
    refused = await run(agent, "toolyard_destroy", "mute")
    assert "call it with toolyard_read" in refused["content"][0]["text"]


@pytest.mark.parametrize(("tier", "count"), [("read", 1), ("write", 2), ("destroy", 3)])
async def test_a_limited_view_has_the_call_tools_that_its_tier_covers(
    yard: Doors, tier: str, count: int
) -> None:
    agent = Agent(yard, token=await make_token(yard, "agent", tier=tier))
    assert list(await own(agent)) == CALL_TOOLS[:count]
    said = (await agent.ask("server/discover"))["result"]["instructions"]
    assert [name for name in CALL_TOOLS if name in said] == CALL_TOOLS[:count]
    for hidden in CALL_TOOLS[count:]:
        refused = await agent.call(hidden, server="h", tool="wipe", arguments={})
        assert "unknown tool" in refused["error"]["message"]
        # Nor is there a way around by a tool that is offered.
        result = await run(agent, "toolyard_read", "wipe")
        assert result["isError"] and "unknown tool of 'h'" in result["content"][0]["text"]


async def test_a_door_that_speaks_no_mcp_calls_any_tool(yard: Doors) -> None:
    for tool in OWNERS:
        answer = await send(yard, "POST", "/api/v1/call", {"server": "h", "tool": tool})
        assert answer.json()["content"][0]["text"] == "done"
