"""The headers that MCP gives a meaning, and how they must agree with the body."""

from __future__ import annotations

from typing import Final

from toolyard.wire import era, headers, jsonrpc
from toolyard.wire.envelope import Breach, Envelope, check_modern


class McpHeaders:
    """The headers of one request that matter at the MCP door, read in one pass."""

    __slots__ = (
        "duplicate",
        "is_modern",
        "kind",
        "method",
        "name",
        "params",
        "session",
        "takes_stream",
        "trace",
        "version",
    )

    def __init__(self, pairs: list[tuple[bytes, bytes]]) -> None:
        self.session = self.kind = self.trace = b""
        self.takes_stream = False
        self.version = self.method = self.name = None
        self.params: dict[str, str] = {}
        self.duplicate = ""
        for key, value in pairs:
            if key == b"mcp-session-id":
                self.session = value
            elif key == b"content-type":
                self.kind = value
            elif key == b"accept":
                self.takes_stream |= b"text/event-stream" in value or b"*/*" in value
            elif key[:5] == b"trace":
                self.trace = headers.add_trace(self.trace, key, value)
            elif key[:4] == b"mcp-":
                self._note(key, value.decode("latin-1"))
        # A version we do not know is answered in the modern way, which can list what we know.
        self.is_modern = self.version is not None and self.version not in era.LEGACY_VERSIONS

    version: str | None
    method: str | None
    name: str | None

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

    def check(self, envelope: Envelope) -> Breach | None:
        """The first rule of the modern HTTP door that a request breaks."""
        message, params, meta = envelope
        breach = check_modern(meta)
        if breach is not None and breach[0] == era.INVALID_PARAMS:
            return breach
        if self.duplicate:
            return era.HEADER_MISMATCH, f"{self.duplicate} stands more than once", None
        if self.version != jsonrpc.to_python(meta[era.META_VERSION]):
            return era.HEADER_MISMATCH, "MCP-Protocol-Version differs from the body", None
        if breach is not None:
            return breach
        if self.method != message.method:
            return era.HEADER_MISMATCH, "Mcp-Method differs from the body", None
        key = era.NAMED.get(message.method)
        if key is None or key not in params:
            return None
        name = self.name
        if name is not None and name.startswith("=?"):
            name = headers.decode_value(name)
        if name != jsonrpc.to_python(params[key]):
            return era.HEADER_MISMATCH, f"Mcp-Name differs from the body's {key}", None
        return None


_SLOTS: Final = {b"mcp-protocol-version": "version", b"mcp-method": "method", b"mcp-name": "name"}
