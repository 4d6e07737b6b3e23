"""One HTTP request at the MCP door, and the ways to turn it away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Raw, Struct

from toolyard.core.caller import Caller
from toolyard.doors.http.mcp_headers import McpHeaders
from toolyard.doors.http.reply import JSON, HttpReply
from toolyard.relay.view_key import ViewKey
from toolyard.wire import era, jsonrpc


class Visit(Struct, frozen=True):
    """One HTTP request at this door: what its headers say, who sent it, and what they see."""

    headers: McpHeaders
    caller: Caller
    view_key: ViewKey | None
    """The view they have, if not the usual one."""
    reply: HttpReply
    path: str
    forwarded: Mapping[bytes, bytes] | None = None
    """The headers that some server is to get; None if there are none."""

    def refuse(
        self, status: int, code: int, text: str, id_: Raw | bytes = b"", details: Any = None
    ) -> None:
        """Turn it away with a JSON-RPC error."""
        self.reply.respond(status, jsonrpc.error(id_, jsonrpc.fault(code, text, details)), JSON)


def no_session(visit: Visit) -> tuple[int, int, str]:
    """Status, code and text for a visit without a session: it has ended, or never began."""
    if visit.headers.session:
        return 404, era.INVALID_REQUEST, "this session is over; initialize again"
    text = "no session: send initialize first, or the modern headers"
    return 400, era.INVALID_REQUEST, text


def unreadable(body: bytes) -> tuple[int, str]:
    """Code and text for a body that is no message."""
    try:
        value = jsonrpc.to_python(body)
    except jsonrpc.MalformedError:
        return era.PARSE_ERROR, "the body is not JSON"
    if isinstance(value, list):
        return era.INVALID_REQUEST, "batches are not part of this protocol"
    return era.INVALID_REQUEST, "this is no JSON-RPC message"
