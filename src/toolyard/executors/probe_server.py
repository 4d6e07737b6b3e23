"""The smallest MCP server, for testing an executor that has nothing but a shell."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from toolyard.core.model import Command

_SCRIPT: Final = (files(__package__) / "probe_server.sh").read_text(encoding="utf-8")

PROBE_SERVER: Final = Command(("sh", "-c", _SCRIPT))
"""Has two tools: `ping` returns "pong", `reach` the HTTP status of an address."""
