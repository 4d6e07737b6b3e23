"""The words by which a legacy client introduces itself, once, with `initialize`."""

from __future__ import annotations

from dataclasses import dataclass

from toolyard.wire import era, jsonrpc
from toolyard.wire.jsonrpc import Fields


@dataclass(frozen=True, slots=True)
class ClientGreeting:
    """All that a session needs to know of its client; both members are JSON as it was sent."""

    version: str
    """The protocol revision that is spoken with it: its own, or else the latest one we know."""
    capabilities: bytes = b"{}"
    info: bytes = b""


def read_greeting(params: Fields) -> ClientGreeting:
    """Read the params of `initialize`."""
    version = jsonrpc.text(params.get("protocolVersion"))
    return ClientGreeting(
        version if version in era.LEGACY_VERSIONS else era.LATEST_LEGACY,
        bytes(params.get("capabilities", b"{}")),
        bytes(params.get("clientInfo", b"")),
    )
