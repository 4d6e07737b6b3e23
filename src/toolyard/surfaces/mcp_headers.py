"""What a request at the HTTP door says in its headers, and how it must agree with its body."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Raw

from toolyard.core.names import QUOTED
from toolyard.relay.view_key import ViewKey
from toolyard.relay.session import LEVELS, Exchange
from toolyard.surfaces.gate import NOBODY, Caller
from toolyard.wire import era, headers, jsonrpc
from toolyard.wire.jsonrpc import Fields, Message

Wrong = tuple[int, str, Any]
"""A rule that a request breaks: code, text, details."""


class McpHeaders:
    """The headers of one request that matter here, read in one pass."""

    __slots__ = (
        "accept",
        "duplicate",
        "view_key",
        "caller",
        "kind",
        "method",
        "name",
        "params",
        "session",
        "trace",
        "version",
    )

    def __init__(self, pairs: list[tuple[bytes, bytes]], caller: Caller = NOBODY) -> None:
        self.caller = caller
        self.view_key: ViewKey | None = None
        """How the yard is shown to whoever asks, if not as to everybody."""
        self.session = self.kind = self.accept = self.trace = b""
        self.version = self.method = self.name = None
        self.params: dict[str, str] = {}
        self.duplicate = ""
        for key, value in pairs:
            if key == b"mcp-session-id":
                self.session = value
            elif key == b"content-type":
                self.kind = value
            elif key == b"accept":
                self.accept = value
            elif key[:5] == b"trace":
                self.trace = headers.add_trace(self.trace, key, value)
            elif key[:4] == b"mcp-":
                self._note(key, value.decode("latin-1"))

    version: str | None
    method: str | None
    name: str | None

    @property
    def takes_stream(self) -> bool:
        """Whether the client reads a stream of events."""
        return b"text/event-stream" in self.accept or b"*/*" in self.accept

    def _note(self, key: bytes, value: str) -> None:
        slot = _SLOTS.get(key)
        if slot is not None:
            if getattr(self, slot) is not None:
                self.duplicate = key.decode()
            setattr(self, slot, value)
        elif key.startswith(headers.PARAM):
            name = key.decode("latin-1")
            if name in self.params:
                self.duplicate = name
            self.params[name] = value


_SLOTS: Final = {b"mcp-protocol-version": "version", b"mcp-method": "method", b"mcp-name": "name"}


def is_modern(version: str | None) -> bool:
    """A version we do not know is answered in the modern way, which can list what we know."""
    return version is not None and version not in era.LEGACY_VERSIONS


def take_envelope(exchange: Exchange, meta: Fields) -> None:
    """Read what a modern request says of its client."""
    exchange.session.info = bytes(meta.get(era.META_CLIENT, b""))
    said = jsonrpc.to_python(meta[era.META_CAPABILITIES])
    exchange.capabilities = said if isinstance(said, dict) else {}
    level = jsonrpc.to_python(meta[era.META_LOG_LEVEL]) if era.META_LOG_LEVEL in meta else None
    exchange.level = level if level in LEVELS else None


def check_envelope(params: Raw) -> Wrong | None:
    """What is wrong with a modern request's envelope: code, text, details; None if nothing is."""
    try:
        meta = jsonrpc.fields(jsonrpc.fields(params).get("_meta", Raw(b"")))
    except jsonrpc.MalformedError:
        return era.INVALID_PARAMS, "params and params._meta must be objects", None
    lacking = [key for key in (era.META_VERSION, era.META_CAPABILITIES) if key not in meta]
    if lacking:
        return era.INVALID_PARAMS, f"params._meta lacks {' and '.join(lacking)}", None
    version = jsonrpc.to_python(meta[era.META_VERSION])
    if not isinstance(version, str):
        return era.INVALID_PARAMS, f"{era.META_VERSION} must be a string", None
    if version != era.MODERN:
        details = {"supported": [era.MODERN], "requested": version[:QUOTED]}
        return era.UNSUPPORTED_VERSION, "unsupported protocol version", details
    return None


def disagreement(sent: McpHeaders, message: Message) -> Wrong | None:
    """The first rule of the modern HTTP door that a request breaks."""
    wrong = check_envelope(message.params)
    if wrong is not None and wrong[0] == era.INVALID_PARAMS:
        return wrong
    fields = jsonrpc.fields(message.params)
    version = jsonrpc.to_python(jsonrpc.fields(fields["_meta"])[era.META_VERSION])
    if sent.duplicate:
        return era.HEADER_MISMATCH, f"{sent.duplicate} stands more than once", None
    if sent.version != version:
        return era.HEADER_MISMATCH, "MCP-Protocol-Version differs from the body", None
    if wrong is not None:
        return wrong
    if sent.method != message.method:
        return era.HEADER_MISMATCH, "Mcp-Method differs from the body", None
    key = era.NAMED.get(message.method)
    named = fields.get(key) if key is not None else None
    if named is not None:
        name = headers.decode_value(sent.name) if sent.name is not None else None
        if name != jsonrpc.to_python(named):
            return era.HEADER_MISMATCH, f"Mcp-Name differs from the body's {key}", None
    return None
