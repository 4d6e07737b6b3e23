"""The tools by which a model finds and calls tools; it asks what the operations ask."""

from __future__ import annotations

from typing import Final

from msgspec import Meta, Struct

from toolyard.core.jsontypes import JsonObject
from toolyard.relay.offers import CALLING, LOOKS, OwnTool


class ToolsQuery(Struct, frozen=True):
    """Which tools to list."""

    query: str = ""
    server: str = ""
    limit: int = 0
    name: str = ""
    """The tool's full name, or its own name at its server."""


class ToolCall(Struct, frozen=True, omit_defaults=True):
    """Which tool to call, and with what."""

    server: str
    tool: str
    arguments: JsonObject = {}
    input: str = ""
    """The saved input to call it with; `arguments` go over it."""


_FIND: Final = OwnTool(
    "toolyard_tools",
    "Find tools",
    "Search or list the tools of all servers: names, descriptions and full input schemas, best "
    "match first. Give words to search, a server to list only its tools, or nothing for all. "
    "callTool says with which of the hub's tools each is called.",
    LOOKS,
    {
        "query": Meta(description="Words to look for in names and descriptions."),
        "server": Meta(description="Only tools of this server."),
        "limit": Meta(
            ge=1, le=500, description="How many tools at most (20 for a search, else 100)."
        ),
    },
)
_CALL_ARGUMENTS: Final = {
    "server": Meta(description='Name of the server, e.g. "git".'),
    "tool": Meta(description='The tool\'s own name, without prefix, e.g. "log".'),
    "arguments": Meta(description="Arguments for the tool; they must match its input schema."),
}
_CALLS: Final = tuple(
    OwnTool(call.name, call.title, call.text, call.hints, _CALL_ARGUMENTS)
    for call in CALLING.values()
)
"""One for each tier, so that a client's own permissions tell a look from a deletion."""

TOOLS: Final = (_FIND.offer(ToolsQuery), *(tool.offer(ToolCall) for tool in _CALLS))
