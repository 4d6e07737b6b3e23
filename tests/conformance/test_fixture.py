"""The fixture server answers the SDK's own client, in both eras and over both transports."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from tests.conformance.starting import everything_command, everything_url

MODERN = "2026-07-28"
ERAS = {"legacy": "2025-11-25", MODERN: MODERN}

Target = StdioServerParameters | str


def target(stack: ExitStack, transport: str, *flags: str) -> Target:
    """Where a client connects to."""
    if transport == "http":
        return stack.enter_context(everything_url(*flags))
    command, *arguments = everything_command("stdio", *flags)
    return StdioServerParameters(command=command, args=arguments)


@pytest.fixture(scope="module", params=["http", "stdio"])
def everything(request: pytest.FixtureRequest) -> Iterator[Target]:
    with ExitStack() as stack:
        yield target(stack, request.param)


async def fill_in(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
    """A user who answers the same whatever is asked."""
    return types.ElicitResult(action="accept", content={"username": "Ada", "email": "a@b.c"})


def said(result: types.CallToolResult) -> str:
    """The text of a result."""
    block = result.content[0]
    assert isinstance(block, types.TextContent)
    return block.text


@pytest.mark.parametrize("mode", ERAS)
async def test_it_answers_and_asks_in_the_era_of_its_client(everything: Target, mode: str) -> None:
    async with Client(everything, mode=mode, elicitation_callback=fill_in) as client:
        assert client.session.protocol_version == ERAS[mode]
        assert "test_simple_text" in [tool.name for tool in (await client.list_tools()).tools]
        answer = await client.call_tool("test_simple_text")
        assert said(answer) == "This is a simple text response for testing."
        answer = await client.call_tool("test_elicitation", {"message": "who are you?"})
        assert '"username": "Ada"' in said(answer)


@pytest.mark.parametrize("transport", ["http", "stdio"])
async def test_a_legacy_only_server_knows_nothing_of_the_modern_era(transport: str) -> None:
    with ExitStack() as stack:
        server = target(stack, transport, "--legacy-only")
        async with Client(server, mode="auto") as client:
            assert client.session.protocol_version == ERAS["legacy"]
            assert said(await client.call_tool("test_echo", {"message": "hi"})) == "hi"
        async with Client(server, mode=MODERN) as client:
            with pytest.raises(MCPError):
                await client.call_tool("test_echo", {"message": "hi"})


@pytest.mark.parametrize("transport", ["http", "stdio"])
async def test_a_modern_only_server_refuses_the_handshake(transport: str) -> None:
    with ExitStack() as stack:
        server = target(stack, transport, "--modern-only")
        async with Client(server, mode="auto") as client:
            assert client.session.protocol_version == MODERN
            assert said(await client.call_tool("test_echo", {"message": "hi"})) == "hi"
        with pytest.RaisesGroup(MCPError, flatten_subgroups=True):
            async with Client(server, mode="legacy"):
                pass


async def test_lists_come_in_pages_when_told() -> None:
    with ExitStack() as stack:
        server = target(stack, "stdio", "--page-size", "7")
        async with Client(server, mode=MODERN) as client:
            page = await client.list_tools()
            assert len(page.tools) == 7
            following = await client.list_tools(cursor=page.next_cursor)
            assert {tool.name for tool in page.tools}.isdisjoint(t.name for t in following.tools)
