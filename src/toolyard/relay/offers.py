"""The hub's own offers, always there: the stable entry point for clients that list once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NotRequired, TypedDict

from toolyard import __version__
from toolyard.core.jsontypes import JsonObject
from toolyard.core.model import Offer
from toolyard.wire import jsonrpc

SERVER: Final = {"name": "toolyard", "title": "Toolyard", "version": __version__}
INTRODUCTION: Final = "This is Toolyard: one address in front of many MCP servers.\n"
NAMED: Final = "Tools are named server{}tool. "
GROWING: Final = """\
The list can grow while you work: if a tool you expect is missing, call toolyard_tools with a few \
words (or a server's name) to find it with its full input schema, then call it with \
toolyard_call(server, tool, arguments). That works for every tool, listed or not.
toolyard_status says which servers are there and what is wrong with those that fail; \
toolyard_refresh makes the hub ask all servers again."""
CHANGING: Final = "The list can change while you work."


def introduction(separator: str, *, own_tools: bool) -> str:
    """Tell a model how to work with the hub; the view decides what is said of names and tools."""
    named = NAMED.format(separator) if separator else ""
    return INTRODUCTION + named + (GROWING if own_tools else CHANGING)


class InputSchema(TypedDict):
    """The JSON Schema of a tool's arguments."""

    type: str
    properties: Mapping[str, JsonObject]
    additionalProperties: bool
    required: NotRequired[list[str]]


def _tool(
    name: str, title: str, text: str, properties: Mapping[str, JsonObject], **more: Any
) -> Offer:
    required = more.pop("required", [])
    schema: InputSchema = {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
    if required:
        schema["required"] = required
    tool = {"name": name, "title": title, "description": text, "inputSchema": schema, **more}
    return Offer(name, jsonrpc.encode(tool))


_TEXT: Final = {"type": "string"}
_LOOKS: Final = {"readOnlyHint": True, "openWorldHint": False}

TOOLS: Final = (
    _tool(
        "toolyard_status",
        "Status of the yard",
        "Which servers the hub has, their state, number of tools and problems with hints.",
        {},
        annotations=_LOOKS,
    ),
    _tool(
        "toolyard_tools",
        "Find tools",
        "Search or list the tools of all servers: names, descriptions and full input schemas, best "
        "match first. Give words to search, a server to list only its tools, or nothing for all.",
        {
            "query": {**_TEXT, "description": "Words to look for in names and descriptions."},
            "server": {**_TEXT, "description": "Only tools of this server."},
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": 500,
                "description": "How many tools at most (20 for a search, else 100).",
            },
        },
        annotations=_LOOKS,
    ),
    _tool(
        "toolyard_call",
        "Call any tool",
        "Stable entry point: call any tool of any server, listed or not, by (server, tool, "
        "arguments). Use toolyard_tools first to learn the tool's input schema.",
        {
            "server": {**_TEXT, "description": 'Name of the server, e.g. "git".'},
            "tool": {**_TEXT, "description": 'The tool\'s own name, without prefix, e.g. "log".'},
            "arguments": {
                "type": "object",
                "description": "Arguments for the tool; they must match its input schema.",
            },
        },
        required=["server", "tool"],
        annotations={"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True},
    ),
    _tool(
        "toolyard_refresh",
        "Ask all servers again",
        "Ask every server again for its tools, prompts and resources, and wake those that failed.",
        {},
        annotations={"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
    ),
)

LIFE: Final = (
    _tool(
        "toolyard_find",
        "Find servers",
        "Search servers by words, running or not: their state, what they are for, and which of "
        "their tools match. toolyard_activate starts one.",
        {"query": {**_TEXT, "description": "Words to look for."}},
        required=["query"],
        annotations=_LOOKS,
    ),
    _tool(
        "toolyard_activate",
        "Start a server",
        "Start a server now and get its tools with their schemas. Calls start servers too; this "
        "saves the wait and shows what there is.",
        {"server": {**_TEXT, "description": "Name of the server."}},
        required=["server"],
        annotations={"readOnlyHint": False, "idempotentHint": True, "openWorldHint": False},
    ),
    _tool(
        "toolyard_deactivate",
        "Let a server rest",
        "End a server's process once no call is under way; the next call starts it again.",
        {"server": {**_TEXT, "description": "Name of the server."}},
        required=["server"],
        annotations={"readOnlyHint": False, "idempotentHint": True, "openWorldHint": False},
    ),
)
"""For servers that run only while they are needed."""

RESOURCES: Final = (
    Offer(
        "toolyard://status",
        jsonrpc.encode(
            {
                "uri": "toolyard://status",
                "name": "toolyard-status",
                "title": "Status of the yard",
                "description": "Servers, their state and problems, as JSON.",
                "mimeType": "application/json",
            }
        ),
    ),
    Offer(
        "toolyard://tools",
        jsonrpc.encode(
            {
                "uri": "toolyard://tools",
                "name": "toolyard-tools",
                "title": "All tools with their schemas",
                "description": "Every tool of every server with its full schema, as JSON.",
                "mimeType": "application/json",
            }
        ),
    ),
)

PROMPTS: Final = (
    Offer(
        "toolyard-setup",
        jsonrpc.encode(
            {
                "name": "toolyard-setup",
                "title": "Set up servers",
                "description": "Helps to add servers to the yard, given what is there now.",
            }
        ),
    ),
    Offer(
        "toolyard-doctor",
        jsonrpc.encode(
            {
                "name": "toolyard-doctor",
                "title": "What is wrong?",
                "description": "Goes through the problems of the yard and what to do about each.",
            }
        ),
    ),
)

OwnOffers = Mapping[str, tuple[Offer, ...]]
"""What a hub itself offers, by kind."""
OWN: Final[OwnOffers] = {"tools": TOOLS + LIFE, "prompts": PROMPTS, "resources": RESOURCES}
