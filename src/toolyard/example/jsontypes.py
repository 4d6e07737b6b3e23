"""The shape of everything that MCP says."""

from __future__ import annotations

from typing import Any

JsonObject = dict[str, Any]
"""A JSON object: params, a result, a description or a schema."""
