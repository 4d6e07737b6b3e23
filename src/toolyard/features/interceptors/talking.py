"""The way to an interceptor that is no part of the hub."""

from __future__ import annotations

from typing import Final, Protocol

from toolyard.wire.jsonrpc import Message

SPARE: Final = 64 << 10
"""Bytes that an answer may have beside the payload."""


class Talk(Protocol):
    """The way to one interceptor."""

    @property
    def trouble(self) -> str:
        """The reason why it cannot be asked now; empty if none is known."""
        ...

    async def ask(self, method: str, params: bytes) -> Message:
        """Ask it something.

        Raises:
            ToolyardError: It cannot be reached, or does not keep to JSON-RPC.
        """
        ...

    async def close(self) -> None:
        """End it."""
        ...
