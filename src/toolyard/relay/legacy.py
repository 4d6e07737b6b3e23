"""Results for legacy clients: without what only the modern era knows."""

from __future__ import annotations

from typing import Final

from msgspec import Raw

from toolyard.core.outputs import WRAPPED
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Fields, Message

COPIED: Final = 1 << 16
"""Bytes of a result worth writing anew to be rid of a few members that every client skips."""
_MODERN: Final = ("resultType", "ttlMs", "cacheScope")


def legacy_answer(message: Message, members: Fields, *, wraps: bool) -> Message:
    """A result as a legacy client reads it, given its members.

    Anything but an object that a tool returns is put into one; `wraps` says that its schema was.
    """
    if not members:
        return message
    structured = members.get("structuredContent")
    wraps = structured is not None and (wraps or bytes(memoryview(structured)[:1]) != b"{")
    if not wraps and len(message.result) > COPIED:
        return message
    fitted = {name: value for name, value in members.items() if name not in _MODERN}
    if "_meta" in fitted:
        _strip_identity(fitted)
    if structured is not None and wraps:
        fitted["structuredContent"] = Raw(b'{"%b":%b}' % (WRAPPED.encode(), structured))
    elif fitted == members:
        return message
    return Message(result=Raw(jsonrpc.encode(fitted)))


def result_members(message: Message) -> Fields:
    """The members of a result; none of an error, or of what is no object."""
    try:
        return jsonrpc.fields(message.result)
    except jsonrpc.MalformedError:
        return {}


def _strip_identity(fields: Fields) -> None:
    """Leave out who answered: a legacy client was told once, when it came."""
    try:
        meta = jsonrpc.fields(fields["_meta"])
    except jsonrpc.MalformedError:
        return
    if meta.pop(era.META_SERVER, None) is None:
        return
    if meta:
        fields["_meta"] = Raw(jsonrpc.encode(meta))
    else:
        del fields["_meta"]
