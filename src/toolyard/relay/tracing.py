"""The seam for tracing: a request of a client, and every message that it sends to a server.

Nothing is here unless the user asked for traces. Who makes the spans is handed in.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from toolyard.links.link import Link
from toolyard.wire.jsonrpc import Fields, Message


class HopSpan(Protocol):
    """One message on its way to a server, until that has answered."""

    @property
    def fields(self) -> Fields:
        """Its params, with the trace it belongs to in `_meta`."""
        ...

    @property
    def trace(self) -> bytes:
        """The same as header lines, for a server behind HTTP."""
        ...

    def end(self, answer: asyncio.Future[Message]) -> None:
        """The server has answered, or never will."""
        ...


class RequestSpan(Protocol):
    """A request of a client, from its door to its answer."""

    def hop(self, link: Link, method: str, fields: Fields) -> HopSpan:
        """Begin the span of a message that the request sends over a link."""
        ...
