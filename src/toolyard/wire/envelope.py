"""A client's message as a door reads it: once, and within bounds.

Of a request the members of its params and of their `_meta` are known from then on, and the few
texts that doors and relay go by; everything else stays the bytes that arrived.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from toolyard.core.errors import ToolyardError
from toolyard.core.names import QUOTED
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Fields, Message

DEPTH: Final = 64
"""Levels that arrays and objects of a message may nest."""
_ID_STARTS: Final = frozenset(bytes([c]) for c in b'"-0123456789')
"""The first bytes of a string and of a number; MCP takes no other ids, and not null either."""


class EnvelopeError(ToolyardError):
    """A message that nobody can serve, and the error that answers it."""

    def __init__(self, id_: bytes, code: int, text: str, details: Any = None) -> None:
        super().__init__(text)
        self.id = id_
        self.code = code
        self.details = details


class Envelope(Struct, frozen=True):
    """A message, and what was read of it if it is a request."""

    message: Message
    id: bytes
    """The raw id of a request; empty for all other messages."""
    params: Fields
    """The members of its params."""
    meta: Fields
    """The members of `params._meta`."""
    name: str = ""
    """The tool, prompt, resource or task that it names."""
    version: str = ""
    """The version that its `_meta` names, if that says all that a modern request must say."""


def read_envelope(raw: bytes) -> Envelope:
    """Read what a client sent.

    Raises:
        jsonrpc.MalformedError: It is no message at all.
        EnvelopeError: It is one that nobody can serve.
    """
    message = jsonrpc.decode(raw)
    id_ = bytes(message.id)
    if jsonrpc.is_too_deep(raw, DEPTH):
        text = f"the message nests deeper than {DEPTH} levels"
        raise EnvelopeError(id_, era.INVALID_REQUEST, text)
    if not message.method or not id_:
        return Envelope(message, b"", {}, {})
    if id_[:1] not in _ID_STARTS:
        text = "the id of a request is a string or a number"
        raise EnvelopeError(b"", era.INVALID_REQUEST, text)
    try:
        params = jsonrpc.decode_fields(message.params) if message.params else {}
        name = jsonrpc.text(params.get(era.NAMED.get(message.method, "")))
    except jsonrpc.MalformedError:
        text = "the params of a request are an object"
        raise EnvelopeError(id_, era.INVALID_PARAMS, text) from None
    try:
        meta = jsonrpc.decode_fields(params["_meta"]) if "_meta" in params else {}
        version = jsonrpc.text(meta.get(era.META_VERSION))
    except jsonrpc.MalformedError:
        meta, version = {}, ""  # no error: legacy servers may read what is no object
    is_whole = era.META_CAPABILITIES in meta
    return Envelope(message, id_, params, meta, name, version if is_whole else "")


def unfit_for_modern(envelope: Envelope) -> EnvelopeError:
    """The reason why a request whose version is not ours cannot be served as a modern one."""
    id_, meta = envelope.id, envelope.meta
    needed = (era.META_VERSION, era.META_CAPABILITIES)
    if lacking := " and ".join(key for key in needed if key not in meta):
        return EnvelopeError(id_, era.INVALID_PARAMS, f"params._meta lacks {lacking}")
    if not envelope.version:
        return EnvelopeError(id_, era.INVALID_PARAMS, f"{era.META_VERSION} must be a string")
    details = {"supported": [era.MODERN], "requested": envelope.version[:QUOTED]}
    return EnvelopeError(id_, era.UNSUPPORTED_VERSION, "unsupported protocol version", details)
