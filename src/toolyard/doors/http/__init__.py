"""MCP over HTTP, on our own connections."""
