"""Clients of both eras whose calls a rule stops."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.control.company import Agent, entry, send
from tests.doors.doors import Doors, Json, Raw, call, mirrored, modern, open_doors

ABLE: Json = {"elicitation": {"form": {}}}
BOTH = "application/json, text/event-stream"
WAITING = "/api/v1/waiting-calls"
YES: Json = {"action": "accept", "content": {"approve": True}}
NO: Json = {"action": "decline"}
ECHO: Json = {"name": "s__echo", "arguments": {"text": "hello"}}


@asynccontextmanager
async def open_ruled(home: Path, **rules: Json) -> AsyncIterator[Doors]:
    """A hub with these rules, in front of a server that records what it did."""
    (home / "rules.json").write_text(json.dumps(rules))
    servers = {"s": entry("s", "--only", "echo,env", "--record", str(home / "ran"), "--record-all")}
    async with open_doors(home, servers) as doors:
        await doors.settled()
        yield doors


def ran(home: Path) -> list[Json]:
    """The calls that reached the server, by their params."""
    lines = (home / "ran").read_text().splitlines()
    return [line for line in map(json.loads, lines) if "tools/call" in json.dumps(line)]


async def waiting(doors: Doors, count: int = 1) -> list[Json]:
    """The calls that wait, once there are so many."""

    async def listed() -> list[Json]:
        calls: list[Json] = (await doors.get(WAITING))["calls"]
        return calls if len(calls) == count else []

    found: list[Json] = await doors.until(listed)
    return found


async def none_waits(doors: Doors) -> None:
    """Wait until nobody is asked any more."""

    async def is_empty() -> bool:
        return (await doors.get(WAITING))["calls"] == []

    await doors.until(is_empty)


async def answer(doors: Doors, id_: str, word: str) -> Any:
    """Answer a call on the page."""
    return await send(doors, "POST", f"{WAITING}/{id_}", {"answer": word})


class Modern:
    """A modern client; it can show a form unless it is told otherwise."""

    def __init__(self, agent: Agent, able: Json = ABLE) -> None:
        self.agent, self.able = agent, able

    async def call(self, params: Json = ECHO, more: Json | None = None) -> Json:
        """Call a tool; the result."""
        message = modern("tools/call", {**params, **(more or {})}, clientCapabilities=self.able)
        head = {**mirrored(message), "Accept": BOTH}
        reply = await self.agent.post(message, head)
        body = reply.body.decode()
        if "event-stream" in reply.headers.get("content-type", ""):
            body = [line[5:] for line in body.splitlines() if line.startswith("data:")][-1]
        result: Json = json.loads(body)["result"]
        return result

    async def asked(self, params: Json = ECHO) -> Json:
        """Call a tool that a rule has ask; the members of a second round with a yes."""
        result = await self.call(params)
        assert result["resultType"] == "input_required", result
        ((key, question),) = result["inputRequests"].items()
        assert question["method"] == "elicitation/create"
        return {"requestState": result["requestState"], "inputResponses": {key: YES}}


class Legacy:
    """A legacy client with a session."""

    def __init__(self, agent: Agent, able: Json = ABLE) -> None:
        self.agent, self.able = agent, able
        self.head: dict[str, str] = {}

    @asynccontextmanager
    async def calling(self, params: Json = ECHO) -> AsyncIterator[Raw]:
        """Call a tool; the stream of what comes."""
        doors = self.agent.doors
        about = {"protocolVersion": "2025-11-25", "capabilities": self.able}
        greeting = call("initialize", {**about, "clientInfo": {"name": "old"}})
        reply = await self.agent.post(greeting)
        session = {"Mcp-Session-Id": reply.headers["mcp-session-id"]}
        self.head = {**self.agent.head, **session, "MCP-Protocol-Version": "2025-11-25"}
        body = json.dumps(call("tools/call", params, 7)).encode()
        async with doors.connected() as raw:
            await raw.send(doors.request("POST", "/mcp", body, {**self.head, "Accept": BOTH}))
            yield raw

    async def say(self, question: Json, result: Json) -> None:
        """Answer a question of the hub."""
        message = {"jsonrpc": "2.0", "id": question["id"], "result": result}
        reply = await self.agent.doors.ask("POST", "/mcp", json.dumps(message).encode(), self.head)
        assert reply.status == 202, reply


def text_of(result: Json) -> str:
    text: str = result["content"][0]["text"]
    return text
