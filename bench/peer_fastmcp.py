"""A hub made of FastMCP's parts: a proxy for each server, with a client that stays connected.

python peer_fastmcp.py SERVERS.json PORT
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from pathlib import Path

from fastmcp import Client, FastMCP  # type: ignore[import-not-found]
from fastmcp.server import create_proxy  # type: ignore[import-not-found]


async def serve(urls: dict[str, str], port: int) -> None:
    """Connect to all servers, then serve what they have."""
    hub = FastMCP("fastmcp")
    quiet = {"log_level": "error", "access_log": False}
    async with AsyncExitStack() as stack:
        for name, url in urls.items():
            client = await stack.enter_async_context(Client(url))
            hub.mount(create_proxy(client, name=name), namespace=name)
        await hub.run_http_async(
            show_banner=False, host="127.0.0.1", port=port, uvicorn_config=quiet
        )


if __name__ == "__main__":
    servers = json.loads(Path(sys.argv[1]).read_text())["mcpServers"]
    addresses = {name: server["url"] for name, server in servers.items()}
    asyncio.run(serve(addresses, int(sys.argv[2])))
