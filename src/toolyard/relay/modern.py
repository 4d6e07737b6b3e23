"""Answers of legacy servers for modern clients: with what every modern result must say."""

from __future__ import annotations

from msgspec import Raw

from toolyard.relay.session import ClientRequest
from toolyard.relay.url_elicitations import LONGEST, ask_to_open
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Fields, Message


def modernised(request: ClientRequest, method: str, fields: Fields, message: Message) -> Message:
    """A legacy server's answer with what every modern result must say."""
    if message.error:
        return _modern_error(request, method, fields, message)
    raw = bytes(message.result)
    if b'"resultType"' in raw and "resultType" in jsonrpc.fields(raw):
        return message
    extra = b'"resultType":"complete"'
    if method == "resources/read":
        extra += b',"ttlMs":0,"cacheScope":"private"'
    inner = raw[1:].lstrip()
    message.result = Raw(b"{" + extra + (b"" if inner[:1] == b"}" else b",") + inner)
    return message


def _modern_error(request: ClientRequest, method: str, fields: Fields, message: Message) -> Message:
    """An unknown resource has another code in the modern era; a page to be opened is a question."""
    code = jsonrpc.error_code(message.error)
    if code == era.RESOURCE_NOT_FOUND and method == "resources/read":
        fault = jsonrpc.read_fault(message.error)
        fault.code = era.INVALID_PARAMS
        return Message(error=Raw(jsonrpc.encode(fault)))
    if code == era.URL_ELICITATION_REQUIRED and len(message.error) <= LONGEST:
        return ask_to_open(request, method, fields, jsonrpc.read_fault(message.error)) or message
    return message
