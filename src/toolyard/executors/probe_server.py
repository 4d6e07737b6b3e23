"""The smallest MCP server, for testing an executor that has nothing but a shell."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from toolyard.core.model import Command


@cache
def probe_command() -> Command:
    """The command of a server with two tools.

    `ping` returns "pong", `reach` the HTTP status of an address.
    """
    script = Path(__file__).with_suffix(".sh").read_text(encoding="utf-8")
    return Command(("sh", "-c", script))
