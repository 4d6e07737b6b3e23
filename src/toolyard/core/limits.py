"""Limits: how much callers may use of tools, and whose use counts together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

EVERY: Final = "*"
"""In the place of a name: each one by itself."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit of the user's; a part without a name leaves open who calls, or what is called.

    All calls that it is about count together. A part that is `*` has each of its kind counted by
    itself: each member, or each tool.
    """

    name: str
    member: str = ""
    """The key of a member, or the name by which they call."""
    token: str = ""
    """The name of an agent's token; a member's own tokens count as the member."""
    agent: str = ""
    """The agent that calls, or the name that a client gives itself."""
    server: str = ""
    """The full name of a server, or the one it is shown under."""
    tool: str = ""
    """The tool's name at its server."""
    calls: int = 0
    bytes: int = 0
    """Bytes of arguments and results."""
    seconds: float = 60.0
    """The time in which that many calls are made, or bytes passed, at most."""
    concurrent: int = 0
    """Calls under way at a time."""
    instances: int = 0
    """Servers that run for the sessions of the caller."""
    fault: str = ""
    """The reason why its figures cannot be read, and where they stand: nothing passes it."""

    def is_about(self, server: str, alias: str, tool: str) -> bool:
        """Tell whether calls of a tool come under it, if it is a limit of calls at all."""
        has_figures = bool(self.calls or self.bytes or self.concurrent or self.fault)
        return (
            has_figures
            and self.server in ("", EVERY, server, alias)
            and self.tool in ("", EVERY, tool)
        )
