"""A client's message as a door reads it: once, and within bounds.

Of a request the members of its params and of their `_meta` are known from then on; what is inside
of them stays the bytes that arrived.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from toolyard.core.errors import ToolyardError
from toolyard.core.names import QUOTED
from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Fields, Message

DEPTH: Final = 64
"""Levels that arrays and objects of a message may nest."""

Breach = tuple[int, str, Any]
"""A rule that a request breaks: code, text, details."""


class EnvelopeError(ToolyardError):
    """A message that nobody can serve, and the error that answers it."""

    def __init__(self, id_: bytes, code: int, text: str) -> None:
        super().__init__(text)
        self.id = id_
        self.code = code


class Envelope(NamedTuple):
    """A message, and of a request the members of its params and of their `_meta`."""

    message: Message
    params: Fields
    meta: Fields


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
        return Envelope(message, {}, {})
    if not jsonrpc.is_valid_id(id_):
        text = "the id of a request is a string or a number"
        raise EnvelopeError(b"", era.INVALID_REQUEST, text)
    try:
        params = jsonrpc.decode_fields(message.params) if message.params else {}
    except jsonrpc.MalformedError:
        text = "the params of a request are an object"
        raise EnvelopeError(id_, era.INVALID_PARAMS, text) from None
    return Envelope(message, params, _meta(params) if "_meta" in params else {})


def _meta(params: Fields) -> Fields:
    """The members of `_meta`; none of what is no object, which legacy servers may read as well."""
    try:
        return jsonrpc.decode_fields(params["_meta"])
    except jsonrpc.MalformedError:
        return {}


def check_modern(meta: Fields) -> Breach | None:
    """The first rule for the envelope of a modern request that this one breaks."""
    if era.META_VERSION not in meta or era.META_CAPABILITIES not in meta:
        needed = (era.META_VERSION, era.META_CAPABILITIES)
        lacking = " and ".join(key for key in needed if key not in meta)
        return era.INVALID_PARAMS, f"params._meta lacks {lacking}", None
    version = jsonrpc.to_python(meta[era.META_VERSION])
    if not isinstance(version, str):
        return era.INVALID_PARAMS, f"{era.META_VERSION} must be a string", None
    if version != era.MODERN:
        details = {"supported": [era.MODERN], "requested": version[:QUOTED]}
        return era.UNSUPPORTED_VERSION, "unsupported protocol version", details
    return None
