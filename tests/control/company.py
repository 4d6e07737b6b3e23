"""A hub with two small servers, and clients that use its doors in every way there is."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.doors.doors import Answer, Doors, Json, call, mirrored, modern, open_doors
from tests.fixtures.stub_run import stub_command

LEGACY = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "agent"}}


def entry(name: str, *flags: str) -> Json:
    """How a stub is started."""
    command = stub_command("--name", name, *flags)
    return {"command": command[0], "args": command[1:]}


def servers() -> Json:
    """One with three tools and resources, one with two tools."""
    return {
        "one": entry("one", "--only", "echo,env", "--tools", "3"),
        "two": entry("two", "--only", "echo", "--tools", "2", "--tools-only"),
    }


@asynccontextmanager
async def open_yard(home: Path, **changes: Any) -> AsyncIterator[Doors]:
    """A hub in front of both, ready."""
    async with open_doors(home, servers(), **changes) as doors:
        await doors.settled()
        yield doors


class Agent:
    """A client at one path of the HTTP door, with one token."""

    def __init__(self, doors: Doors, path: str = "/mcp", token: str = "") -> None:
        self.doors = doors
        self.path = path
        self.head = {"Authorization": f"Bearer {token}"} if token else {}

    async def post(self, message: Json, headers: Mapping[str, str] | None = None) -> Answer:
        """Send one message."""
        sent = {**self.head, **(headers or {})}
        return await self.doors.ask("POST", self.path, json.dumps(message).encode(), sent)

    async def ask(self, method: str, params: Json | None = None) -> Json:
        """Ask something in the modern way; the whole response."""
        message = modern(method, params)
        head = {**mirrored(message), "Accept": "application/json"}
        if "uri" in (params or {}):
            head["Mcp-Name"] = params["uri"]  # type: ignore[index]
        said: Json = (await self.post(message, head)).json()
        return said

    async def tools(self) -> list[str]:
        """The names of the tools that are listed, without the hub's own."""
        listed = (await self.ask("tools/list"))["result"]["tools"]
        return [t["name"] for t in listed if not t["name"].startswith("toolyard_")]

    async def found(self, query: str = "", server: str = "") -> list[Json]:
        """What `toolyard_tools` finds."""
        asked = {"query": query, "server": server, "limit": 100}
        said = await self.ask("tools/call", {"name": "toolyard_tools", "arguments": asked})
        return said["result"]["structuredContent"]["tools"]

    async def call(self, tool: str, /, **arguments: Any) -> Json:
        """Call a tool by the name in the list; the whole response."""
        return await self.ask("tools/call", {"name": tool, "arguments": arguments})

    async def stable(self, server: str, tool: str, /, **arguments: Any) -> Json:
        """Call a tool through the stable entry of its risk; the result."""
        asked = {"server": server, "tool": tool, "arguments": arguments}
        rows = [row for row in await self.found() if (row["server"], row["tool"]) == (server, tool)]
        name = rows[0]["callTool"] if rows else "toolyard_read"
        said = await self.ask("tools/call", {"name": name, "arguments": asked})
        return said.get("result") or {"isError": True, **said["error"]}

    async def status(self) -> Json:
        """What `toolyard_status` says."""
        said = await self.ask("tools/call", {"name": "toolyard_status", "arguments": {}})
        return said["result"]["structuredContent"]

    async def initialize(self) -> dict[str, str]:
        """Begin a legacy session; the headers that belong to it."""
        answer = await self.post(call("initialize", LEGACY))
        assert answer.status == 200, answer
        session = {"Mcp-Session-Id": answer.headers["mcp-session-id"]}
        return {**session, "MCP-Protocol-Version": "2025-11-25"}


async def send(doors: Doors, method: str, path: str, body: Any = None, **head: str) -> Answer:
    """Speak to the control door."""
    data = b"" if body is None else json.dumps(body).encode()
    headers = {key.replace("_", "-"): value for key, value in head.items()}
    return await doors.ask(method, path, data, headers)


async def put_profile(doors: Doors, name: str, **said: Any) -> None:
    """Write a profile, and see it noticed."""
    answer = await send(doors, "PUT", f"/api/v1/profiles/{name}", said)
    assert answer.status == 200, answer
    assert answer.json()["noticed"], answer


async def make_token(doors: Doors, name: str, **said: Any) -> str:
    """A token for an agent."""
    answer = await send(doors, "POST", "/api/v1/tokens", {"name": name, **said})
    assert answer.status == 201, answer
    token: str = answer.json()["token"]
    return token
