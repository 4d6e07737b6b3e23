"""What a client sees of a hub, in both eras: the greeting, every list, and the hub's own tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from tests.control.company import LEGACY, Agent, servers
from tests.doors.doors import Doors, Json, call
from tests.golden.recorder import Recorder

LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
OWN: tuple[tuple[str, Json], ...] = (
    ("toolyard_status", {}),
    ("toolyard_tools", {"query": "echo"}),
    ("toolyard_tools", {"server": "nobody"}),
    ("toolyard_destroy", {"server": "two", "tool": "tool_0", "arguments": {"text": "hello"}}),
    ("toolyard_destroy", {"server": "two", "tool": "tool_0", "arguments": {}}),
    ("toolyard_destroy", {"server": "two", "tool": "nothing", "arguments": {}}),
    ("toolyard_find", {"query": "echo"}),
    ("toolyard_activate", {"server": "two"}),
    ("toolyard_deactivate", {"server": "two"}),
    ("toolyard_refresh", {}),
)
READ: tuple[tuple[str, Json], ...] = (
    ("prompts/get", {"name": "one__greet", "arguments": {"who": "Ada"}}),
    ("resources/read", {"uri": "note://one/readme"}),
    ("resources/read", {"uri": "note://nobody"}),
    ("no/such/method", {}),
)
Ask = Callable[[str, Json], Awaitable[Json]]


async def legacy(record: Recorder) -> None:
    """A client of the revision 2025-11-25."""
    await _record(record, _greet_as_legacy)


async def modern(record: Recorder) -> None:
    """A client of the revision 2026-07-28."""
    await _record(record, _greet_as_modern)


async def _record(
    record: Recorder, greet: Callable[[Doors], Awaitable[tuple[str, Json, Ask]]]
) -> None:
    async with record.yard(servers()) as yard:
        method, answer, ask = await greet(yard.doors)
        _note(record, method, {}, answer)
        for method in LISTS:
            _note(record, method, {}, await ask(method, {}))
        for method, params in READ:
            _note(record, method, params, await ask(method, params))
        for name, arguments in OWN:
            params = {"name": name, "arguments": arguments}
            _note(record, "tools/call", params, await ask("tools/call", params))
    async with record.yard(servers(), expose="search") as yard:
        method, answer, ask = await greet(yard.doors)
        _note(record, f"{method} with expose=search", {}, answer)
        _note(record, "tools/list with expose=search", {}, await ask("tools/list", {}))


def _note(record: Recorder, method: str, params: Json, answer: Json) -> None:
    asked: dict[str, Any] = {"method": method, **({"params": params} if params else {})}
    record.calls.append({**asked, "answer": answer.get("result", answer.get("error"))})


async def _greet_as_legacy(doors: Doors) -> tuple[str, Json, Ask]:
    agent = Agent(doors)
    answer = await agent.post(call("initialize", LEGACY))
    head = {
        "Mcp-Session-Id": answer.headers["mcp-session-id"],
        "MCP-Protocol-Version": "2025-11-25",
    }

    async def ask(method: str, params: Json) -> Json:
        reply: Json = (await agent.post(call(method, params), head)).json()
        return reply

    return "initialize", answer.json(), ask


async def _greet_as_modern(doors: Doors) -> tuple[str, Json, Ask]:
    agent = Agent(doors)
    return "server/discover", await agent.ask("server/discover"), agent.ask
