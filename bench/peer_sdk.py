"""A hub made of the official SDK alone: a kept client for each server, a list that is made once.

python peer_sdk.py SERVERS.json PORT
"""

from __future__ import annotations

import json
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import uvicorn
import uvloop
from mcp import Client
from mcp.server.lowlevel import Server
from mcp.types import CallToolResult, ListToolsResult, Tool


async def serve(urls: dict[str, str], port: int) -> None:
    """Connect to all servers, then serve what they have."""
    async with AsyncExitStack() as stack:
        clients, tools = {}, []
        for name, url in urls.items():
            clients[name] = await stack.enter_async_context(Client(url, mode="legacy"))
            listed = await clients[name].list_tools()
            tools += [renamed(tool, f"{name}__{tool.name}") for tool in listed.tools]

        async def list_tools(_context, _params):  # type: ignore[no-untyped-def]
            return ListToolsResult(tools=tools)

        async def call_tool(_context, params) -> CallToolResult:  # type: ignore[no-untyped-def]
            server, _, tool = params.name.partition("__")
            return await clients[server].call_tool(tool, params.arguments or {})

        hub = Server("sdk", on_list_tools=list_tools, on_call_tool=call_tool)
        app = hub.streamable_http_app(json_response=True)
        config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error")
        await uvicorn.Server(config).serve()


def renamed(tool: Tool, name: str) -> Tool:
    """A tool under the name by which clients call it."""
    return tool.model_copy(update={"name": name})


if __name__ == "__main__":
    servers = json.loads(Path(sys.argv[1]).read_text())["mcpServers"]
    addresses = {name: server["url"] for name, server in servers.items()}
    uvloop.run(serve(addresses, int(sys.argv[2])))
