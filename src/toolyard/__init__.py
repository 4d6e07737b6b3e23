"""One yard for every MCP server a person has: found, checked, run and shared behind one address."""

__version__ = "0.1.0"
