"""The SDK's own client, in both modes at both doors: somebody else's reading of the protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from tests.e2e.hub import TOKEN, RunningHub, toolyard
from tests.e2e.talk import PLAIN

MODERN = "2026-07-28"
VERSIONS = {"legacy": "2025-11-25", MODERN: MODERN}

pytestmark = [
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
    pytest.mark.parametrize("door", ["line", "http"]),
    pytest.mark.parametrize("mode", VERSIONS),
]


@asynccontextmanager
async def client_of(hub: RunningHub, mode: str, door: str, **more: Any) -> AsyncIterator[Client]:
    """The SDK's client; over the line it starts `toolyard mcp`, as editors do."""
    if door == "line":
        command, *words = toolyard("mcp")
        server = StdioServerParameters(command=command, args=words, env=hub.env)
        async with Client(server, mode=mode, **more) as client:
            yield client
        return
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx2.AsyncClient(headers=bearer, timeout=60, **PLAIN) as http:
        transport = streamable_http_client(hub.mcp, http_client=http)
        async with Client(transport, mode=mode, **more) as client:
            yield client


async def fill_in(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"username": "Ada", "email": "a@b.c"})


async def think(
    context: Any, params: types.CreateMessageRequestParams
) -> types.CreateMessageResult:
    return types.CreateMessageResult(
        role="assistant", model="m", content=types.TextContent(type="text", text="Paris")
    )


async def folders(context: Any) -> types.ListRootsResult:
    return types.ListRootsResult.model_validate({"roots": [{"uri": "file:///here"}]})


def said(result: types.CallToolResult) -> str:
    """The text of a result."""
    block = result.content[0]
    assert isinstance(block, types.TextContent)
    return block.text


async def test_it_lists_calls_reads_and_completes(
    everything: RunningHub, mode: str, door: str
) -> None:
    async with client_of(everything, mode, door) as client:
        assert client.session.protocol_version == VERSIONS[mode]
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert {"past__test_echo", "present__test_echo", "toolyard_destroy"} <= set(names)
        for server in ("past", "present"):
            answer = await client.call_tool(f"{server}__test_echo", {"message": "hi"})
            assert said(answer) == "hi"
            answer = await client.call_tool(f"{server}__test_structured_content", {"city": "Bonn"})
            assert answer.structured_content == {"city": "Bonn", "degrees": 21.5}
            prompt = await client.get_prompt(f"{server}__test_simple_prompt")
            assert prompt.messages[0].role == "user"
        read = await client.read_resource("test://static-text")
        assert isinstance(read.contents[0], types.TextResourceContents)
        templates = await client.list_resource_templates()
        assert "test://template/{id}/data" in [t.uri_template for t in templates.resource_templates]
        ref = types.PromptReference(type="ref/prompt", name="past__test_prompt_with_arguments")
        completion = await client.complete(ref, {"name": "arg1", "value": "te"})
        assert completion.completion.values == ["teal", "testing"]


@pytest.mark.parametrize("server", ["past", "present"])
async def test_it_answers_what_servers_ask(
    everything: RunningHub, mode: str, door: str, server: str
) -> None:
    able = {"elicitation_callback": fill_in, "sampling_callback": think}
    async with client_of(everything, mode, door, list_roots_callback=folders, **able) as client:
        answer = await client.call_tool(f"{server}__test_elicitation", {"message": "who?"})
        assert '"username": "Ada"' in said(answer)
        answer = await client.call_tool(f"{server}__test_sampling", {"prompt": "capital?"})
        assert said(answer) == "LLM response: Paris"
        answer = await client.call_tool(f"{server}__test_roots")
        assert said(answer) == "file:///here"


@pytest.mark.parametrize("server", ["past", "present"])
async def test_it_hears_of_progress_and_errors(
    everything: RunningHub, mode: str, door: str, server: str
) -> None:
    heard: list[float] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async with client_of(everything, mode, door) as client:
        tool = f"{server}__test_tool_with_progress"
        await client.call_tool(tool, progress_callback=note)
        assert heard == [0, 50, 100]
        failed = await client.call_tool(f"{server}__test_error_handling")
        assert failed.is_error
        with pytest.raises(MCPError, match="unknown tool"):
            await client.call_tool("past__nothing")
