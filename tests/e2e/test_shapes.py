"""One server in a shape that clients cannot read costs nobody the tools of the others."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.core.test_shapes import SOUND, UNSOUND
from tests.e2e.hub import TOKEN, RunningHub, new_home, running_hub, scripted
from tests.e2e.talk import MODERN, Json, talking, text_of
from tests.e2e.test_inspector import PATIENCE

OBJECT = {"type": "object"}
LIST = {"type": "array", "items": {"type": "integer"}}
IDENTITY = {"io.modelcontextprotocol/serverInfo": {"name": "now", "version": "1", "icons": ["x"]}}
SLOPPY: dict[str, Json] = {
    "empty": {"inputSchema": {}},
    "missing": {},
    "speechless": {"inputSchema": OBJECT, "description": None},
    "hinted": {"inputSchema": OBJECT, "annotations": {"readOnlyHint": "yes"}},
    "sized": {"inputSchema": OBJECT, "icons": [{"src": "data:,", "sizes": "48x48"}]},
    "flags": {"inputSchema": {"type": "object", "properties": {"a": True}, "required": None}},
    "titled": {"inputSchema": OBJECT, "title": 3, "_meta": [], "execution": {"taskSupport": 1}},
    **{
        f"returns-{number}": {"inputSchema": OBJECT, "outputSchema": output}
        for number, output in enumerate([*SOUND, *UNSOUND, LIST, {"anyOf": [LIST]}])
    },
}
RESOURCES: list[Json] = [
    {"uri": "a:nameless", "mimeType": None, "size": "3"},
    {"uri": "a:dated", "name": "d", "annotations": {"lastModified": "2025-01-12", "priority": 7}},
]
PROMPTS: list[Json] = [{"name": "p", "description": None, "arguments": [{"required": "no"}, None]}]


def modern(body: Json) -> str:
    """A result as a modern server gives it."""
    return json.dumps({"_meta": IDENTITY, "resultType": "complete", **body})


def tool(name: str, **fields: Any) -> Json:
    """A tool of the modern server."""
    return {"name": name, "inputSchema": OBJECT, **fields}


@pytest.fixture(scope="module")
def shapes() -> Iterator[RunningHub]:
    """A hub before a sloppy legacy server, and a modern one whose tools return anything."""
    can: Json = {"tools": {}, "prompts": {}, "resources": {}}
    useless = {"name": "useless", "inputSchema": {"type": "array"}}
    listed = [{"name": name, **fields} for name, fields in SLOPPY.items()]
    sloppy = {
        "tools/list": json.dumps({"tools": [*listed, useless]}),
        "tools/call hinted": '{"content":[]}',
        "prompts/list": json.dumps({"prompts": PROMPTS}),
        "resources/list": json.dumps({"resources": RESOURCES}),
        "resources/templates/list": '{"resourceTemplates":[{"uriTemplate":"a:{b}"}]}',
    }
    numbers = {"content": [{"type": "text", "text": "[1]"}], "structuredContent": [1]}
    now = {
        "server/discover": modern({"supportedVersions": [MODERN], "capabilities": can}),
        "tools/list": modern(
            {"tools": [tool("numbers", outputSchema=LIST), tool("loose"), tool("plain")]}
        ),
        "tools/call numbers": modern(numbers),
        "tools/call loose": modern(numbers),
        "tools/call plain": modern({"content": [], "structuredContent": {"a": 1}, "own": 1}),
        "resources/list": modern({"resources": [{"uri": "n:1", "name": "1"}]}),
        "resources/read n:1": modern({"contents": [], "ttlMs": 0, "cacheScope": "private"}),
    }
    with new_home() as home:
        servers = {
            "sloppy": scripted(home, "sloppy", sloppy, **can),
            "now": scripted(home, "now", now),
        }
        with running_hub(servers, home=home) as hub:
            yield hub


@pytest.mark.parametrize("door", ["line", "http"])
async def test_a_legacy_client_gets_in_an_object_what_is_none(
    shapes: RunningHub, door: str
) -> None:
    async with talking(shapes, "legacy", door) as client:
        tools = {tool["name"]: tool for tool in (await client.result("tools/list"))["tools"]}
        wrapped = {"type": "object", "properties": {"result": LIST}, "required": ["result"]}
        assert tools["now__numbers"]["outputSchema"] == wrapped
        for name in ("now__numbers", "now__loose"):
            assert (await client.call(name))["structuredContent"] == {"result": [1]}
        params = {"server": "now", "tool": "numbers"}
        called = await client.call("toolyard_destroy", params)
        assert called["structuredContent"] == {"result": [1]}


async def test_a_modern_client_gets_what_the_server_says(shapes: RunningHub) -> None:
    async with talking(shapes, "modern") as client:
        tools = {tool["name"]: tool for tool in (await client.result("tools/list"))["tools"]}
        assert tools["now__numbers"]["outputSchema"] == LIST
        assert (await client.call("now__numbers"))["structuredContent"] == [1]
        assert (await client.call("now__plain"))["_meta"] == IDENTITY


@pytest.mark.parametrize("door", ["line", "http"])
async def test_a_legacy_client_gets_no_members_of_the_modern_era(
    shapes: RunningHub, door: str
) -> None:
    async with talking(shapes, "legacy", door) as client:
        plain = {"content": [], "structuredContent": {"a": 1}, "own": 1}
        assert await client.call("now__plain") == plain
        assert await client.result("resources/read", {"uri": "n:1"}) == {"contents": []}


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_tool_that_nobody_can_call_is_left_out_alone(shapes: RunningHub, era: str) -> None:
    async with talking(shapes, era) as client:
        names = [tool["name"] for tool in (await client.result("tools/list"))["tools"]]
        assert {f"sloppy__{name}" for name in SLOPPY} <= set(names)
        assert "sloppy__useless" not in names
        params = {"server": "sloppy", "tool": "useless"}
        said = await client.call("toolyard_destroy", params)
        assert said["isError"] and "inputSchema is not of type object" in text_of(said)
    (problem,) = [p for p in shapes.status()["problems"] if p["code"] == "tool-shape"]
    assert problem["subject"] == "sloppy@configured"
    assert problem["text"].endswith("useless")


# The official library that most clients use reads all lists, and calls.

CLIENT = """
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Http } from
  "@modelcontextprotocol/sdk/client/streamableHttp.js";
const headers = { Authorization: `Bearer ${process.env.TOKEN}` };
const client = new Client({ name: "typescript", version: "1" });
await client.connect(new Http(new URL(process.env.HUB), { requestInit: { headers } }));
const { tools } = await client.listTools();
const { prompts } = await client.listPrompts();
const { resources } = await client.listResources();
const { resourceTemplates } = await client.listResourceTemplates();
const called = [];
for (const name of ["now__numbers", "now__loose", "now__plain", "sloppy__hinted"])
  called.push((await client.callTool({ name, arguments: {} })).structuredContent ?? null);
console.log(JSON.stringify({ tools, prompts, resources, resourceTemplates, called }));
await client.close();
"""


@pytest.mark.timeout(600)  # the first time, the library is fetched
async def test_the_typescript_library_reads_every_list(
    shapes: RunningHub, node24: ModuleType, home: Path
) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "HUB": shapes.mcp, "TOKEN": TOKEN}
    process = await asyncio.create_subprocess_exec(
        *(str(node24.node()), "--input-type=module", "--eval", CLIENT),
        cwd=node24.BOX,
        env=env,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE):
        out, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    read = json.loads(out)
    assert {f"sloppy__{name}" for name in SLOPPY} <= {tool["name"] for tool in read["tools"]}
    assert {"a:nameless", "a:dated", "n:1"} <= {each["uri"] for each in read["resources"]}
    assert [each["name"] for each in read["resourceTemplates"]] == ["a:{b}"]
    assert "sloppy__p" in [prompt["name"] for prompt in read["prompts"]]
    assert read["called"] == [{"result": [1]}, {"result": [1]}, {"a": 1}, None]
