"""The names of what is exported: OpenTelemetry's conventions for MCP, and the hub's own."""

from __future__ import annotations

from typing import Final

from toolyard.wire import era

METHOD: Final = "mcp.method.name"
VERSION: Final = "mcp.protocol.version"
SESSION: Final = "mcp.session.id"
RESOURCE: Final = "mcp.resource.uri"
ID: Final = "jsonrpc.request.id"
OPERATION: Final = "gen_ai.operation.name"
TOOL: Final = "gen_ai.tool.name"
PROMPT: Final = "gen_ai.prompt.name"
ERROR: Final = "error.type"
STATUS: Final = "rpc.response.status_code"
TRANSPORT: Final = "network.transport"
SERVER: Final = "toolyard.server"
"""The name of the server that a message goes to."""
ATTRIBUTES: Final = (
    *(METHOD, VERSION, SESSION, RESOURCE, ID, OPERATION),
    *(TOOL, PROMPT, ERROR, STATUS, TRANSPORT, SERVER),
)

TOOL_ERROR: Final = "tool_error"
"""The class of an error that a tool tells of in its result."""
OTHER: Final = "_OTHER"
"""The name of a method that is none of MCP: a client may think of any."""

SERVER_DURATION: Final = "mcp.server.operation.duration"
CLIENT_DURATION: Final = "mcp.client.operation.duration"
BUCKETS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
"""Seconds; as the conventions have them."""
SERVERS: Final = "toolyard.servers"
INSTANCES: Final = "toolyard.instances"
SESSIONS: Final = "toolyard.sessions"
PROBLEMS: Final = "toolyard.problems"
INSTRUMENTS: Final = {
    SERVER_DURATION: "s",
    CLIENT_DURATION: "s",
    SERVERS: "{server}",
    INSTANCES: "{instance}",
    SESSIONS: "{session}",
    PROBLEMS: "{problem}",
}
"""Every metric, with its unit."""

VERSIONS: Final = frozenset({*era.LEGACY_VERSIONS, era.MODERN})
METHODS: Final = frozenset(
    {
        "completion/complete",
        "initialize",
        "logging/setLevel",
        "ping",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/subscribe",
        "resources/templates/list",
        "resources/unsubscribe",
        "server/discover",
        "tasks/cancel",
        "tasks/get",
        "tasks/list",
        "tasks/result",
        "tasks/update",
        "tools/call",
        "tools/list",
    }
)
"""The methods of both eras that clients call."""
