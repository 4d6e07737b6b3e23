"""MCP over lines: the hub's socket, and the program that clients start."""
