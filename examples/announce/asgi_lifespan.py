"""A server that is one app among others: announced in the lifespan of the whole.

Any library that gives an ASGI app fits: `streamable_http_app()` of the SDK as here, or `http_app()`
of fastmcp (whose lifespan you enter where `session_manager.run()` stands).

    uvicorn asgi_lifespan:app --port 8002        or: python asgi_lifespan.py [port]
"""

import contextlib
import os
import sys
from collections.abc import AsyncIterator

import uvicorn
from mcp.server import MCPServer
from starlette.applications import Starlette
from starlette.routing import Mount

from toolyard.announce import announce

port = (
    int(sys.argv[1]) if __name__ == "__main__" and sys.argv[1:] else int(os.getenv("PORT", "8002"))
)
server = MCPServer("greeter")


@server.tool()
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Good day, {name}."


inner = server.streamable_http_app()


@contextlib.asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    """Run the server, and announce it once the port is open."""
    async with (
        server.session_manager.run(),
        announce("greeter", url=f"http://127.0.0.1:{port}/mcp", tools=["greet"]),
    ):
        yield


app = Starlette(routes=[Mount("/", inner)], lifespan=lifespan)

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=port)
