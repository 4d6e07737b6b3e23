"""The hub's own replies: errors in the protocol's words, and the signature of its results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Raw

from toolyard.core.errors import (
    BusyError,
    ConfigError,
    HeldError,
    LimitError,
    ToolyardError,
    UnknownNameError,
)
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Message

EMPTY: Final = Message(result=Raw(b"{}"))
"""The result of what is done without anything to say."""


def error_reply(code: int, text: str, details: Any = None) -> Message:
    """Refuse a request."""
    return Message(error=Raw(jsonrpc.fault(code, text, details)))


def unknown_method(method: str) -> Message:
    """Refuse a method that neither the hub nor a server knows."""
    return error_reply(era.METHOD_NOT_FOUND, f"{method[:128]} is not known")


def unknown_uri(uri: str, text: str, *, modern: bool) -> Message:
    """Refuse to read what there is not; its code differs between the eras."""
    code = era.INVALID_PARAMS if modern else era.RESOURCE_NOT_FOUND
    return error_reply(code, text, {"uri": uri})


def explained(error: ToolyardError) -> Message:
    """Refuse a request for a reason of ours, with what to do next."""
    is_request = isinstance(error, UnknownNameError | HeldError | ConfigError)
    text = f"{error}; {error.hint}" if error.hint else str(error)
    return error_reply(
        era.INVALID_PARAMS if is_request else era.SERVER_ERROR, text, _details(error)
    )


def _details(error: ToolyardError) -> dict[str, str | int] | None:
    """Tell programs which limit refused a call, whose it is, and when to try again."""
    if not isinstance(error, LimitError | BusyError):
        return None
    details: dict[str, str | int] = {}
    if isinstance(error, LimitError):
        details = {"limit": error.limit, "subject": error.whose}
    if error.retry_after:
        details["retryAfter"] = error.retry_after
    return details or None


def refuse_call(text: str, method: str, *, is_modern: bool) -> Message:
    """Refuse a call of a tool in its result, so that the person reads it; else by an error."""
    if method != "tools/call":
        return error_reply(era.SERVER_ERROR, text)
    body: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": True}
    if is_modern:
        body["resultType"] = "complete"
    return Message(result=Raw(jsonrpc.encode(body)))


def failed(failure: BaseException) -> bytes:
    """The error for a client whose request the hub itself failed at."""
    if isinstance(failure, MemoryError):
        text = "the hub has no memory for this answer; ask for less at once"
    else:
        text = f"the hub failed at this request ({type(failure).__name__}); see its log"
    return jsonrpc.fault(era.INTERNAL_ERROR, text)


def sign(message: Message, identity: Mapping[str, str], extra: bytes = b"") -> Message:
    """Add to a result of ours what the modern era wants in every one: its type, and who answers."""
    body = bytes(message.result)
    if not body or (b'"resultType"' in body and "resultType" in jsonrpc.fields(body)):
        return message
    head = extra or b'"resultType":"complete",'
    signature = b'"_meta":{"%b":%b}' % (era.META_SERVER.encode(), jsonrpc.encode(identity))
    comma = b"" if body == b"{}" else b","
    return Message(result=Raw(b"{" + head + signature + comma + body[1:]))
