"""MCP over lines, for clients that are attached to the hub's socket."""
