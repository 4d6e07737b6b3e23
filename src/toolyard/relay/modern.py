"""Answers of legacy servers for modern clients: with what every modern result must say."""

from __future__ import annotations

from msgspec import Raw

from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Message


def modernised(method: str, message: Message) -> Message:
    """A legacy server's answer with what every modern result must say."""
    if message.error:
        return _modern_error(method, message)
    raw = bytes(message.result)
    if b'"resultType"' in raw and "resultType" in jsonrpc.fields(raw):
        return message
    extra = b'"resultType":"complete"'
    if method == "resources/read":
        extra += b',"ttlMs":0,"cacheScope":"private"'
    inner = raw[1:].lstrip()
    message.result = Raw(b"{" + extra + (b"" if inner[:1] == b"}" else b",") + inner)
    return message


def _modern_error(method: str, message: Message) -> Message:
    """An unknown resource has another code in the modern era."""
    if method == "resources/read":
        fault = jsonrpc.read_fault(message.error)
        if fault.code == era.RESOURCE_NOT_FOUND:
            fault.code = era.INVALID_PARAMS
            return Message(error=Raw(jsonrpc.encode(fault)))
    return message
