"""The hub's own offers, always there: the stable entry point for clients that list once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import Meta, Struct

from toolyard import __version__
from toolyard.core.model import Offer
from toolyard.core.tiers import Tier
from toolyard.wire import jsonrpc

SERVER: Final = {"name": "toolyard", "title": "Toolyard", "version": __version__}
INTRODUCTION: Final = "This is Toolyard: one address in front of many MCP servers.\n"
NAMED: Final = "Tools are named server{}tool. "
GROWING: Final = """\
The list can grow while you work: if a tool you expect is missing, call toolyard_tools with a few \
words (or a server's name) to find it with its full input schema, then call it by (server, tool, \
arguments) with the tool that is named there as its callTool: {}. That works for every tool, \
listed or not.
toolyard_status says which servers are there and what is wrong with those that fail; \
toolyard_refresh makes the hub ask all servers again."""
CHANGING: Final = "The list can change while you work."


def introduction(separator: str, calls: Sequence[str]) -> str:
    """Tell a model how to work with the hub; `calls` are the call tools that its view has."""
    named = NAMED.format(separator) if separator else ""
    return INTRODUCTION + named + (GROWING.format(" or ".join(calls)) if calls else CHANGING)


Hints = Mapping[str, bool]
"""The annotations of a tool: what a client may expect of it."""
LOOKS: Final[Hints] = {"readOnlyHint": True, "openWorldHint": False}
REPEATS: Final[Hints] = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
SWITCHES: Final[Hints] = {"readOnlyHint": False, "idempotentHint": True, "openWorldHint": False}


@dataclass(frozen=True, slots=True)
class OwnTool:
    """A tool of the hub itself, in the words that a model reads."""

    name: str
    title: str
    text: str
    hints: Hints
    arguments: Mapping[str, Meta] = field(default_factory=dict)
    """The fields of its order that a model may set, and what is said of each."""

    def offer(self, order: type[Struct]) -> Offer:
        """Describe it; the order says of which type its arguments are, and which it needs."""
        fields = {field.name: field for field in msgspec.structs.fields(order)}
        annotated: Any = Annotated
        properties = {
            name: msgspec.json.schema(annotated[fields[name].type, words])
            for name, words in self.arguments.items()
        }
        schema = {"type": "object", "properties": properties, "additionalProperties": False}
        if needed := [name for name in self.arguments if fields[name].required]:
            schema["required"] = needed
        tool = {
            "name": self.name,
            "title": self.title,
            "description": self.text,
            "inputSchema": schema,
            "annotations": self.hints,
        }
        return Offer(self.name, jsonrpc.encode(tool))


class CallTool(NamedTuple):
    """The tool by which a model calls any other of one tier."""

    name: str
    title: str
    text: str
    hints: Hints


_CALLED: Final = (
    "listed or not, by (server, tool, arguments). Use toolyard_tools first: it says which tools "
    "these are, and their input schemas."
)
CALLING: Final[Mapping[Tier, CallTool]] = {
    Tier.READ: CallTool(
        "toolyard_read",
        "Call a tool that only reads",
        f"Call any tool of any server that changes nothing, {_CALLED}",
        {"readOnlyHint": True, "openWorldHint": True},
    ),
    Tier.WRITE: CallTool(
        "toolyard_write",
        "Call a tool that writes",
        "Call any tool of any server that adds or changes something and destroys nothing, "
        f"{_CALLED}",
        {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": True},
    ),
    Tier.DESTROY: CallTool(
        "toolyard_destroy",
        "Call a tool that may destroy",
        "Call any tool of any server that may delete or overwrite something, or of which nobody "
        f"says that it does not, {_CALLED}",
        {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True},
    ),
}
"""The stable entry points, one for each tier: so a client's own permissions hold for them."""
CALL_NAMES: Final = {call.name: tier for tier, call in CALLING.items()}

OF_OPERATIONS: Final = ("toolyard_status", "toolyard_tools", *CALL_NAMES, "toolyard_refresh")
"""The tools that ask what an operation asks, described by its feature; in the order of the list."""


class ServersQuery(Struct, frozen=True):
    """The words that a server is searched by."""

    query: str


class ServerChoice(Struct, frozen=True):
    """The server that is meant, by its name in a view."""

    server: str


_SERVER: Final = {"server": Meta(description="Name of the server.")}
LIFE: Final = (
    OwnTool(
        "toolyard_find",
        "Find servers",
        "Search servers by words, running or not: their state, what they are for, and which of "
        "their tools match. toolyard_activate starts one.",
        LOOKS,
        {"query": Meta(description="Words to look for.")},
    ).offer(ServersQuery),
    OwnTool(
        "toolyard_activate",
        "Start a server",
        "Start a server now and get its tools with their schemas. Calls start servers too; this "
        "saves the wait and shows what there is.",
        SWITCHES,
        _SERVER,
    ).offer(ServerChoice),
    OwnTool(
        "toolyard_deactivate",
        "Let a server rest",
        "End a server's process once no call is under way; the next call starts it again.",
        SWITCHES,
        _SERVER,
    ).offer(ServerChoice),
)
"""For servers that run only while they are needed; no operation asks for these alike."""

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


def own_offers(described: Iterable[Offer]) -> OwnOffers:
    """All that the hub itself offers; given are the tools that features describe."""
    by_name = {offer.key: offer for offer in described}
    tools = tuple(by_name[name] for name in OF_OPERATIONS if name in by_name)
    return {"tools": tools + LIFE, "prompts": PROMPTS, "resources": RESOURCES}
