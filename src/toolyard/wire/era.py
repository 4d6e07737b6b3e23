"""The two families of the protocol, and the names that tell them apart on the wire.

Legacy (to 2025-11-25): `initialize`, sessions, requests in both directions.
Modern (2026-07-28): every request stands alone and carries its own envelope.
"""

from __future__ import annotations

from typing import Final, Literal

from toolyard.core.jsontypes import JsonObject

Era = Literal["legacy", "modern"]
Capabilities = JsonObject
"""The capabilities that a client or a server declares: objects of any shape, by name."""

MODERN: Final = "2026-07-28"
LATEST_LEGACY: Final = "2025-11-25"
LEGACY_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", LATEST_LEGACY)
ASSUMED_LEGACY: Final = "2025-03-26"
"""What a legacy HTTP client speaks if it does not say (the specification's rule)."""

PREFIX: Final = "io.modelcontextprotocol/"
META_VERSION: Final = PREFIX + "protocolVersion"
META_CAPABILITIES: Final = PREFIX + "clientCapabilities"
META_CLIENT: Final = PREFIX + "clientInfo"
META_SERVER: Final = PREFIX + "serverInfo"
META_LOG_LEVEL: Final = PREFIX + "logLevel"
META_SUBSCRIPTION: Final = PREFIX + "subscriptionId"
TASKS: Final = PREFIX + "tasks"
"""The extension of the modern era for work that outlives its call."""
CONNECTION_KEYS: Final = frozenset(
    {META_VERSION, META_CAPABILITIES, META_CLIENT, META_SERVER, META_LOG_LEVEL, META_SUBSCRIPTION}
)
"""The `_meta` keys that belong to one hop, never to the message that crosses the hub."""

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
SERVER_ERROR: Final = -32000
"""Our own code for trouble behind the hub: the server failed, was late or was busy."""
RESOURCE_NOT_FOUND: Final = -32002
URL_ELICITATION_REQUIRED: Final = -32042
"""Of the revision 2025-11-25: the request is to be made again once its pages were opened."""
HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022

MODERN_ERRORS: Final = frozenset({HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION})
"""Only a modern server answers with these; anything else says nothing about the era."""

NAMED: Final = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
"""Methods whose `Mcp-Name` header repeats a field of the body, and which field."""
