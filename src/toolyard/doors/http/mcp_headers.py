"""The headers that MCP gives a meaning, and how they must agree with the body."""

from __future__ import annotations

from typing import Final

from toolyard.wire import era, headers
from toolyard.wire.envelope import Envelope, EnvelopeError, unfit_for_modern

_MIRRORS: Final = frozenset({b"mcp-protocol-version", b"mcp-method", b"mcp-name"})
"""The headers that repeat something of every body, or of most."""


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
        self.duplicate = ""
        mirrored: dict[str, str] = {}
        for key, value in pairs:
            if key.startswith(b"mcp-"):
                if key == b"mcp-session-id":
                    self.session = value
                elif key in _MIRRORS or key.startswith(headers.PARAM):
                    name = key.decode("latin-1")
                    if name in mirrored:
                        self.duplicate = name
                    mirrored[name] = value.decode("latin-1")
            elif key == b"content-type":
                self.kind = value
            elif key == b"accept":
                self.takes_stream |= b"text/event-stream" in value or b"*/*" in value
            elif key.startswith(b"trace"):
                self.trace = headers.add_trace(self.trace, key, value)
        self.version = mirrored.pop("mcp-protocol-version", None)
        self.method = mirrored.pop("mcp-method", None)
        self.name = mirrored.pop("mcp-name", None)
        self.params = mirrored
        """The rest: those that repeat arguments of a tool."""
        # A version we do not know is answered in the modern way, which can list what we know.
        self.is_modern = self.version is not None and self.version not in era.LEGACY_VERSIONS

    def check(self, envelope: Envelope) -> None:
        """Refuse a request that breaks a rule of the modern HTTP door.

        Raises:
            EnvelopeError: It does.
        """
        version, method = envelope.version, envelope.message.method
        if self.duplicate:
            raise _mismatch(envelope, f"{self.duplicate} stands more than once")
        if version and self.version != version:
            raise _mismatch(envelope, "MCP-Protocol-Version differs from the body")
        if version != era.MODERN:
            raise unfit_for_modern(envelope)
        if self.method != method:
            raise _mismatch(envelope, "Mcp-Method differs from the body")
        key = era.NAMED.get(method)
        name = self.name
        if name is not None and name.startswith("=?"):
            name = headers.decode_value(name)
        if key in envelope.params and name != envelope.name:
            raise _mismatch(envelope, f"Mcp-Name differs from the body's {key}")


def _mismatch(envelope: Envelope, text: str) -> EnvelopeError:
    return EnvelopeError(envelope.id, era.HEADER_MISMATCH, text)
