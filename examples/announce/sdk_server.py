"""A server made with the SDK: announced for as long as it runs.

python sdk_server.py [port]
"""

import sys

from mcp.server import MCPServer

from toolyard.announce import announce

port = int(sys.argv[1]) if len(sys.argv) > 1 else 8001
server = MCPServer("adder")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


with announce("adder", url=f"http://127.0.0.1:{port}/mcp", tools=["add"], version="1.0"):
    server.run("streamable-http", host="127.0.0.1", port=port)
