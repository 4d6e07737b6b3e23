"""JSON-RPC and both eras of MCP: one line in, at most one line out.

Nothing is remembered between requests: one that carries a protocol version in
its `_meta` is modern, any other is legacy.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from toolyard.example import offers, tools
from toolyard.example.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolyard.example.jsontypes import JsonObject

MODERN = "2026-07-28"
LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
META = "io.modelcontextprotocol/"
IDENTITY = {"name": "toolyard-example", "title": "Times, units and dates", "version": "1.0.0"}
INTRODUCTION: JsonObject = {
    "capabilities": {"tools": {}, "prompts": {}, "resources": {}, "completions": {}},
    "instructions": (
        "Exact answers about time zones, units and dates. Zones have IANA names such as "
        "Europe/Paris; the resource example://units lists all units."
    ),
}

HOUR = 3_600_000
TTL = {
    "server/discover": HOUR,
    "tools/list": HOUR,
    "prompts/list": HOUR,
    "resources/list": HOUR,
    "resources/templates/list": HOUR,
    "resources/read": 0,  # a zone's page shows the current time
}


def answer_line(line: bytes) -> bytes:
    """The answer to one line; empty where there is nothing to say."""
    if not line.strip():
        return b""
    try:
        message = json.loads(line)
    except ValueError:
        return encode({"id": None, "error": {"code": -32700, "message": "this line is not JSON"}})
    if not isinstance(message, dict) or not isinstance(message.get("method", ""), str):
        error = {"code": -32600, "message": "this line is not a JSON-RPC message"}
        return encode({"id": None, "error": error})
    if "method" not in message or "id" not in message:
        return b""  # notifications and stray answers change nothing here
    return encode({"id": message["id"], **respond(message["method"], message.get("params"))})


def encode(message: JsonObject) -> bytes:
    """A message as one line, without its end."""
    return json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode()


def respond(method: str, params: Any) -> JsonObject:
    """The result or the error for a request."""
    try:
        if params is not None and not isinstance(params, dict):
            raise RefusedError(-32602, "params must be an object")
        return {"result": serve(method, params or {})}
    except RefusedError as refused:
        return {"error": refused.error}


def serve(method: str, params: JsonObject) -> JsonObject:
    """The result of a request, dressed for its era.

    Raises:
        RefusedError: The request gets a JSON-RPC error.
    """
    modern = is_modern(params)
    handler = (MODERN_METHODS if modern else LEGACY_METHODS).get(method)
    if handler is None:
        raise RefusedError(-32601, f"method not found: {method}")
    result = handler(params)
    if not modern:
        return result
    dressed = {"resultType": "complete", **result, "_meta": {META + "serverInfo": IDENTITY}}
    if method in TTL:
        dressed |= {"ttlMs": TTL[method], "cacheScope": "public"}
    return dressed


def is_modern(params: JsonObject) -> bool:
    """Is this a request of the modern era?

    Raises:
        RefusedError: It says so, but lacks what a modern request must carry.
    """
    meta = params.get("_meta")
    if not isinstance(meta, dict) or META + "protocolVersion" not in meta:
        return False
    version = meta[META + "protocolVersion"]
    if version != MODERN:
        supported = {"supported": [MODERN], "requested": version}
        raise RefusedError(-32022, f"unsupported protocol version: {version}", supported)
    if not isinstance(meta.get(META + "clientCapabilities"), dict):
        raise RefusedError(-32602, f"_meta must carry {META}clientCapabilities")
    return True


def initialize(params: JsonObject) -> JsonObject:
    """The legacy handshake: the client's revision if we know it, else our newest."""
    revision = params.get("protocolVersion")
    version = revision if revision in LEGACY else LEGACY[-1]
    return {"protocolVersion": version, "serverInfo": IDENTITY, **INTRODUCTION}


def discover(params: JsonObject) -> JsonObject:
    """The facts that a modern client may want before its first request."""
    return {"supportedVersions": [MODERN], **INTRODUCTION}


SHARED: dict[str, Callable[[JsonObject], JsonObject]] = {
    "tools/list": lambda params: {"tools": tools.TOOLS},
    "tools/call": tools.call,
    "prompts/list": lambda params: {"prompts": offers.PROMPTS},
    "prompts/get": offers.get_prompt,
    "resources/list": lambda params: {"resources": offers.RESOURCES},
    "resources/templates/list": lambda params: {"resourceTemplates": offers.TEMPLATES},
    "resources/read": offers.read,
    "completion/complete": offers.complete,
}
LEGACY_METHODS = {**SHARED, "initialize": initialize, "ping": lambda params: {}}
MODERN_METHODS = {**SHARED, "server/discover": discover}
